"""The asking side of a mailbox: signed requests to an ordinary web server, within bounds.

Its certificate is checked as a browser would, against the authorities of the system. Nothing that
a mailbox says is believed: envelopes open only for whom they are, and the rest are hints.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from typing import Final, NamedTuple, final

import aiohttp
from yarl import URL

from dpdl.errors import InputError, reason
from dpdl.peer.client import new_session
from dpdl.peer.keys import SigningKey
from dpdl.peer.mailbox_request import (
    DELETE,
    ITEM_HEADER,
    BoxPath,
    Item,
    parsed_item,
    signed_headers,
)
from dpdl.peer.sockets import Sockets
from dpdl.peer.trouble import MailboxTrouble
from dpdl.peer.wire import GET, LARGEST_DOCUMENT, OK, PUT, NetworkSettings
from dpdl.text import sentence

NO_CONTENT: Final = 204
SAID = 200
"""Characters of what a mailbox says that are shown."""


class Letter(NamedTuple):
    """An envelope with its place; None: it is longer than it may be, and was not read."""

    item: Item
    envelope: bytes | None


@final
class MailboxClient:
    """Puts and fetches envelopes; `MailboxTrouble` says why it could not, and may pass."""

    def __init__(self, key: SigningKey, settings: NetworkSettings) -> None:
        self._key = key
        self._settings = settings
        self._context = _trusting(settings)
        self._sockets = Sockets()
        self._session = new_session(settings, self._sockets)

    async def close(self) -> None:
        """Close all connections at once."""
        await self._session.close()
        await self._sockets.shut()

    async def put(self, url: str, place: BoxPath, envelope: bytes) -> None:
        """Leave an envelope at a mailbox."""
        await self._asked(url, PUT, place, envelope, len(envelope), _nothing)

    async def remove(self, url: str, place: BoxPath) -> None:
        """Nobody needs this envelope any more."""
        await self._asked(url, DELETE, place, b"", 0, _nothing)

    async def next(
        self, url: str, place: BoxPath, most: Callable[[Item], int], size: int
    ) -> Letter | None:
        """The next envelope, which may have `most` bytes; None: there is none yet.

        `size` is that of the longest one that is waited for.
        """
        return await self._asked(url, GET, place, b"", size, most)

    async def _asked(
        self,
        url: str,
        method: str,
        place: BoxPath,
        content: bytes,
        size: int,
        most: Callable[[Item], int],
    ) -> Letter | None:
        settings, path = self._settings, place.text
        timeout = aiohttp.ClientTimeout(
            total=settings.allowance(size), sock_connect=settings.handshake
        )
        try:
            async with self._session.request(
                method,
                URL(f"{url.rstrip('/')}{path}", encoded=True),
                data=content or None,
                headers=signed_headers(self._key, method, path, content, time.time()),
                allow_redirects=False,
                ssl=self._context,
                proxy=settings.proxy,
                timeout=timeout,
            ) as response:
                return await _letter(url, response, most)
        except MailboxTrouble:
            raise
        except (aiohttp.ClientError, OSError, EOFError) as failure:
            raise MailboxTrouble(_told(url, failure)) from failure


def _nothing(item: Item) -> int:
    """No envelope is expected."""
    return -1


async def _letter(
    url: str, response: aiohttp.ClientResponse, most: Callable[[Item], int]
) -> Letter | None:
    if response.status == NO_CONTENT:
        return None
    if response.status != OK:
        raise MailboxTrouble(await _refusal(url, response))
    item = parsed_item(response.headers.get(ITEM_HEADER, ""))
    if item is None:
        response.close()
        raise MailboxTrouble(f"At {url} there is no mailbox; check the address.")
    length = response.content_length
    if length is None or length > most(item):
        response.close()
        return Letter(item, None)
    return Letter(item, await response.content.readexactly(length) if length else b"")


async def _refusal(url: str, response: aiohttp.ClientResponse) -> str:
    """What a mailbox says that does not do what it is asked; a long text is not read."""
    length = response.content_length or 0
    if length > LARGEST_DOCUMENT:
        response.close()
        length = 0
    said = await response.content.readexactly(length) if length else b""
    text = sentence(said.decode("utf-8", "replace"), SAID)
    return f"The mailbox {url} answers {response.status}: {text or 'nothing more.'}"


def _told(url: str, failure: BaseException) -> str:
    """Why a mailbox cannot be used."""
    if isinstance(failure, aiohttp.ClientConnectorCertificateError):
        return (
            f"The mailbox {url} shows a certificate that this machine does not trust: check the "
            "address, or name the authorities of an inspecting proxy with SSL_CERT_FILE."
        )
    if isinstance(failure, TimeoutError):
        return f"The mailbox {url} does not answer: it is off, or a firewall drops what is sent."
    inner = getattr(failure, "os_error", failure)
    return f"The mailbox {url} cannot be reached: {sentence(reason(inner), SAID)}"


def _trusting(settings: NetworkSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.authorities)
    except OSError as failure:
        raise InputError(
            f"The authorities in {str(settings.authorities)!r} cannot be read: {reason(failure)}."
        ) from failure
