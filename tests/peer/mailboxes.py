"""Mailboxes on the loopback interface: honest ones, a hostile one, and what sites need for them."""

from __future__ import annotations

import asyncio
import ipaddress
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from dpdl.peer.card import Card, encoded
from dpdl.peer.keys import AgreementKey, SigningKey
from dpdl.peer.mailbox import Mailbox, MailboxSettings, web_context
from dpdl.peer.mailbox_request import ITEM_HEADER, parsed_box
from dpdl.peer.spelling import time_text
from dpdl.peer.wire import Identity, Mailing, Neighbour
from tests.peer.sites import certified

LOOPBACK = "127.0.0.1"
DAY = timedelta(days=1)


class WebFiles(NamedTuple):
    """What an ordinary web server has, and who vouches for it."""

    certificate: Path
    key: Path
    authorities: Path


@cache
def web_files() -> WebFiles:
    """A certificate for the loopback interface from an authority of its own."""
    folder = Path(mkdtemp(prefix="dpdl-peer-"))
    found = WebFiles(folder / "web.crt", folder / "web.key", folder / "authority.crt")
    root, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    found.authorities.write_bytes(_made("authority", root, root))
    found.certificate.write_bytes(_made("web", own, root))
    private = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    found.key.write_bytes(private)
    return found


def _made(
    name: str, key: ec.EllipticCurvePrivateKey, root: ec.EllipticCurvePrivateKey
) -> bytes:
    issues = key is root
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        True, False, False, False, False, issues, issues, False, False
    )
    host = x509.IPAddress(ipaddress.ip_address(LOOPBACK))
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key())
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        x509.CertificateBuilder(_named("authority"), _named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.BasicConstraints(issues, None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .add_extension(own, critical=False)
        .add_extension(issuer, critical=False)
    )
    return builder.sign(root, hashes.SHA256()).public_bytes(Encoding.PEM)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


# ------------------------------------------------------------------ members
@dataclass(frozen=True)
class Member:
    """A site that accepts no connections."""

    name: str
    signing: SigningKey = field(default_factory=SigningKey.create)
    agreement: AgreementKey = field(default_factory=AgreementKey.create)

    @property
    def card(self) -> Card:
        der = encoded(certified(self.name)[2])
        key, agreement = self.signing.public, self.agreement.public
        draft = Card(self.name, key, agreement, der, 1, time_text(), ())
        return draft.signed(self.signing)

    def identity(self, url: str) -> Identity:
        mailing = Mailing(url, self.signing, self.agreement)
        return Identity(self.name, *certified(self.name)[:2], None, mailing)

    def neighbour(self, url: str | None) -> Neighbour:
        der, agreement = certified(self.name)[2], self.agreement.public
        return Neighbour(self.name, 0, "", der, None, url, agreement)


@cache
def member(name: str) -> Member:
    return Member(name)


# ------------------------------------------------------------------ mailboxes
def settings_in(folder: Path, port: int = 0, **options: object) -> MailboxSettings:
    files = web_files()
    made = MailboxSettings(LOOPBACK, port, folder, files.certificate, files.key)
    return replace(made, long_poll=0.5, patience=1.0, **options)  # type: ignore[arg-type]


@contextmanager
def mailbox(
    settings: MailboxSettings, cards: Sequence[Card], shift: float = 0.0
) -> Iterator[str]:
    """The address of a mailbox in a thread of this process; its clock is wrong by `shift`."""
    with _thread(
        lambda ready: Mailbox(settings, cards, lambda: time.time() + shift).serve(ready)
    ) as port:
        yield f"https://{LOOPBACK}:{port}"


@contextmanager
def _thread(serve) -> Iterator[int]:  # type: ignore[no-untyped-def]
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    ports: list[int] = []
    failures: list[BaseException] = []

    def heard(port: int) -> None:
        ports.append(port)
        ready.set()

    async def work() -> None:
        await serve(heard)

    task = loop.create_task(work())

    def live() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseException as failure:
            failures.append(failure)
            ready.set()
        finally:
            loop.run_until_complete(_end_all())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=live)
    thread.start()
    ready.wait()
    try:
        if failures:
            raise failures[0]
        yield ports[0]
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
        thread.join()


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class HostileMailbox:
    """Takes everything from everybody; deletes, repeats, swaps and changes what it holds."""

    def __init__(self, seed: int = 7, loses: float = 0.1) -> None:
        self.held: dict[str, list[tuple[str, bytes]]] = {}
        self.old: list[tuple[str, bytes]] = []
        self.deeds: list[str] = []
        self._dice = random.Random(seed)
        self._loses = loses

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[str]:
        with _thread(lambda ready: self._serve(port, ready)) as found:
            yield f"https://{LOOPBACK}:{found}"

    async def _serve(self, port: int, ready) -> None:  # type: ignore[no-untyped-def]
        http = web.Server(self._handle, access_log=None)
        files = web_files()
        context = web_context(files.certificate, files.key)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(http, LOOPBACK, port, ssl=context)
        ready(server.sockets[0].getsockname()[1])
        try:
            await asyncio.sleep(3600)
        finally:
            server.close()
            await http.shutdown(0.1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        place = parsed_box(request.raw_path)
        assert place is not None
        box = f"{place.run}/{place.target}"
        if request.method == "PUT":
            assert place.item is not None
            self._keep(box, place.item.text, await request.read())
        elif request.method == "GET":
            for _ in range(50):
                if self.held.get(box):
                    item, content = self.held[box].pop(0)
                    return web.Response(body=content, headers={ITEM_HEADER: item})
                await asyncio.sleep(0.01)
        return web.Response(status=204)

    def _keep(self, box: str, item: str, content: bytes) -> None:
        held = self.held.setdefault(box, [])
        self.old.append((item, content))
        fate = self._dice.random() / self._loses
        if fate < 1:
            self.deeds.append("delete")
        elif fate < 2:
            self.deeds.append("repeat")
            held += [(item, content)] * 2
        elif fate < 3:
            self.deeds.append(
                "swap"
            )  # another's envelope at this place, then the right one
            held += [(item, self._dice.choice(self.old)[1]), (item, content)]
        elif fate < 4:
            self.deeds.append("replay")
            held += [self._dice.choice(self.old), (item, content)]
        elif fate < 5:
            self.deeds.append("change")
            changed = bytearray(content)
            changed[self._dice.randrange(len(changed))] ^= 1
            held += [(item, bytes(changed)), (item, content)]
        else:
            held.append((item, content))
