"""The asking side: one HTTPS request to a neighbour, within bounds.

The connection is TLS 1.3 to exactly the certificate that the neighbour's card has, directly or
through a CONNECT proxy. No answer is followed elsewhere, inflated, or read before its length is
known to be the expected one.
"""

from __future__ import annotations

import io
import re
import socket
import ssl
from typing import Final, final

import aiohttp
from aiohttp import hdrs
from yarl import URL

from dpdl.errors import InputError
from dpdl.peer.failures import Violation
from dpdl.peer.sockets import Sockets
from dpdl.peer.wire import (
    GET,
    LARGEST_DOCUMENT,
    OK,
    RUN_HEADER,
    Answer,
    Call,
    NetworkSettings,
)
from dpdl.text import shown

NO_CONTENT: Final = 204
BUFFER = 1 << 20
"""Bytes of an answer that are buffered before the reading pauses."""
LEFT_OUT = (hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE)
"""Headers that nobody needs."""
LARGEST_CALL = LARGEST_DOCUMENT + 1024
"""Bytes of an answer of unknown length: a document, or a call that carries one."""
SMALL = 1 << 20
"""Bytes that are handed to the connection at once."""


PROXY = re.compile(r"(https?://)(?:[^@/?#\s]{1,200}@)?([^@/?#\s]{1,260})/?")
"""The address of a proxy, which may have a user and a password."""


def check_proxy(text: str) -> None:
    """Refuse what is no address of a proxy."""
    if not PROXY.fullmatch(text):
        raise InputError(f"proxy must be http://HOST:PORT, not {shown(text)}.")


def without_user(proxy: str | None) -> str:
    """The address of a proxy as it may be shown."""
    return PROXY.sub(r"\1\2", proxy or "")


def new_session(settings: NetworkSettings, sockets: Sockets) -> aiohttp.ClientSession:
    """Connections that keep no cookie, inflate nothing, and ask no environment variable."""
    connector = aiohttp.TCPConnector(
        limit=0,
        keepalive_timeout=settings.idle / 2,
        socket_factory=lambda address: sockets.add(
            socket.socket(family=address[0], type=address[1], proto=address[2])
        ),
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        skip_auto_headers=LEFT_OUT,
        read_bufsize=BUFFER,
    )


@final
class Client:
    """Asks neighbours that have an address; keeps their connections open."""

    def __init__(self, settings: NetworkSettings) -> None:
        self._settings = settings
        self._sockets = Sockets()
        self._session = new_session(settings, self._sockets)

    async def close(self) -> None:
        """Close all connections at once."""
        await self._session.close()
        await self._sockets.shut()

    async def request(
        self,
        name: str,
        url: str,
        context: ssl.SSLContext,
        call: Call,
        length: int | None = None,
    ) -> Answer:
        """The answer to a call; `length` is that of what is asked for, where it is known.

        A `Violation` is an answer that no honest peer gives; whatever else is raised may pass.
        """
        size = max(length or LARGEST_DOCUMENT, len(call.content))
        timeout = aiohttp.ClientTimeout(
            total=self._settings.allowance(size),
            sock_connect=self._settings.handshake,
        )
        async with self._session.request(
            call.method,
            URL(f"{url.rstrip('/')}{call.target}", encoded=True),
            data=_body(call),
            allow_redirects=False,
            ssl=context,
            proxy=self._settings.proxy,
            timeout=timeout,
        ) as response:
            if response.status == OK:
                return Answer(OK, await _content(name, response, length))
            return await _other(response)


def _body(call: Call) -> bytes | io.BytesIO | None:
    if call.method == GET:
        return None
    return io.BytesIO(call.content) if len(call.content) >= SMALL else call.content


async def _content(
    name: str, response: aiohttp.ClientResponse, length: int | None
) -> bytes:
    """The body of a 200."""
    said = response.content_length
    if hdrs.CONTENT_ENCODING in response.headers:
        raise _closing(response, name, "sent an encoded answer")
    if said is None:
        raise _closing(response, name, "sent an answer without its length")
    if length is not None and said != length:
        raise _closing(response, name, f"sent {said} bytes where {length} are expected")
    if length is None and said > LARGEST_CALL:
        raise _closing(response, name, f"sent a document of {said} bytes")
    return await _read(response, said)


def _closing(response: aiohttp.ClientResponse, name: str, what: str) -> Violation:
    """The violation; what the answer holds is never read."""
    response.close()
    return Violation(name, what)


async def _other(response: aiohttp.ClientResponse) -> Answer:
    """An answer that is not a 200; a long one, or one without a length, is not read."""
    run = response.headers.get(RUN_HEADER)
    if response.status == NO_CONTENT:
        return Answer(NO_CONTENT)
    said = response.content_length
    if said is None or said > LARGEST_DOCUMENT:
        response.close()
        return Answer(response.status, b"", run)
    return Answer(response.status, await _read(response, said), run)


async def _read(response: aiohttp.ClientResponse, length: int) -> bytes:
    return await response.content.readexactly(length) if length else b""
