"""Two or more sites on the loopback interface, for tests of the network."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from dpdl.peer.certificates import der_of, make_certificate
from dpdl.peer.failures import Refused
from dpdl.peer.frame import Slot
from dpdl.peer.network import Identity, Neighbour, Network, NetworkSettings

RUN = "ab" * 32
LOOPBACK = "127.0.0.1"
SERVED = Slot(0, 3, 1)
WAIT = 10.0
QUICK = NetworkSettings(
    host=LOOPBACK,
    port=0,
    long_poll=0.5,
    patience=1.0,
    handshake=1.0,
    idle=5.0,
    longest_pause=0.2,
    rate=1000.0,
)
"""Bounds as short as a test needs."""


@cache
def certified(name: str) -> tuple[Path, Path, bytes]:
    """Paths of a certificate and its key, and the certificate in DER."""
    folder = Path(mkdtemp(prefix="dpdl-peer-"))
    key, certificate = make_certificate(name)
    (folder / "tls.key").write_bytes(key)
    (folder / "tls.crt").write_bytes(certificate)
    return folder / "tls.crt", folder / "tls.key", der_of(certificate)


def identity(name: str, url: str | None = f"https://{LOOPBACK}") -> Identity:
    certificate, key, _ = certified(name)
    return Identity(name, certificate, key, url)


def neighbour(name: str, url: str | None = None, number: int = 0) -> Neighbour:
    return Neighbour(name, number, "", certified(name)[2], url)


@dataclass
class Shown:
    """A shelf in memory, which remembers what it was told."""

    frames: dict[tuple[Slot, str], bytes] = field(default_factory=dict)
    ended: dict[int, bytes] = field(default_factory=dict)
    durable: dict[str, int] = field(default_factory=dict)
    documents: dict[tuple[str, str], bytes] = field(default_factory=dict)
    greet: Callable[[str, bytes], bytes] = lambda name, content: b"hello " + content
    heard_from: threading.Event = field(default_factory=threading.Event)

    def frame(self, slot: Slot, target: str) -> bytes | None:
        return self.frames.get((slot, target))

    def over(self, view: int) -> bytes | None:
        return self.ended.get(view)

    def heard(self, name: str, have: int) -> None:
        self.durable[name] = have
        self.heard_from.set()

    def hello(self, name: str, content: bytes) -> bytes:
        return self.greet(name, content)

    def document(self, kind: str, name: str) -> bytes | None:
        return self.documents.get((kind, name))

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        if content == b"wrong":
            raise Refused(409, f"The {kind} of {name} from {sender} is wrong.")
        self.documents[kind, name] = content


@dataclass
class Site:
    """One site: its network, its shelf, and what it said of troubles."""

    name: str
    network: Network
    shelf: Shown
    troubles: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def listens(self) -> bool:
        return self.network.port != 0

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.network.port}"

    def show(self, slot: Slot, target: str, content: bytes) -> None:
        """Put a frame on the shelf, and say so."""
        self.shelf.frames[slot, target] = content
        self.network.publish()


def started(
    name: str,
    others: list[str],
    settings: NetworkSettings = QUICK,
    url: str | None = f"https://{LOOPBACK}",
    run: str = RUN,
    urls: Mapping[str, str] = {},
) -> Site:
    """A site that runs; addresses that are not in `urls` are told later."""
    shelf = Shown()
    known = [neighbour(other, urls.get(other)) for other in others]
    network = Network(run, identity(name, url), known, shelf, settings)
    site = Site(name, network, shelf)
    network.on_trouble = lambda who, sentence: site.troubles.append((who, sentence))
    network.on_refused = lambda _, sentence: site.refused.append(sentence)
    network.start()
    return site


@contextmanager
def sites(
    *names: str, settings: NetworkSettings = QUICK, mute: tuple[str, ...] = ()
) -> Iterator[list[Site]]:
    """Sites that all know each other; `mute` ones have no address."""
    with ExitStack() as stack:
        found: dict[str, Site] = {}
        for name in sorted(names, key=lambda one: one in mute):
            others = [other for other in names if other != name]
            url = None if name in mute else f"https://{LOOPBACK}"
            known = {other.name: other.url for other in found.values() if other.listens}
            found[name] = started(name, others, settings, url, urls=known)
            stack.callback(found[name].network.close)
            for other in found.values():
                if other.name != name and name not in mute:
                    other.network.locate(name, found[name].url)
        yield [found[name] for name in names]


def serves(site: Site, other: Site) -> None:
    """Whoever else does what: these two go on."""
    site.show(SERVED, other.name, b"frame")
    begun = time.monotonic()
    found = other.network.ask(site.name, SERVED, 5, lambda: 2)
    assert found.result(WAIT) == b"frame"
    assert time.monotonic() - begun < 2.0


def refusals(site: Site, count: int = 1) -> list[str]:
    """Whom a site turned away, once it has noted so many."""
    end = time.monotonic() + WAIT
    while len(site.refused) < count:
        assert time.monotonic() < end
        time.sleep(0.005)
    return site.refused
