"""`dpdl peer mailbox`: envelopes for sites that accept no connections; anybody may host it.

It has an ordinary web certificate, so it passes proxies that inspect. It knows the cards of the
members, and takes nothing from anybody else. It learns who talks to whom, when and how much; it can
delay and delete, and it cannot read, change, make or use again what it holds.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from aiohttp import hdrs, web

from dpdl.errors import InputError, reason
from dpdl.peer.bell import Bell
from dpdl.peer.card import Card
from dpdl.peer.failures import Refused
from dpdl.peer.limits import Limits, Ticket
from dpdl.peer.mailbox_folder import FULL, Bounds, MailFolder
from dpdl.peer.mailbox_request import (
    DELETE,
    DIGEST_HEADER,
    ITEM_HEADER,
    BoxPath,
    digest_of,
    parsed_box,
    signer,
)
from dpdl.peer.wire import GET, PUT

SWEEP = 600.0
"""Seconds between two looks for what is too old."""
HANDSHAKE = 10.0
BACKLOG = 32
IDLE = 75.0


@final
@dataclass(frozen=True)
class MailboxSettings:
    """Where a mailbox is, and its bounds; times in seconds."""

    host: str
    port: int
    folder: Path
    certificate: Path
    key: Path
    bounds: Bounds = field(default_factory=Bounds)
    long_poll: float = 25.0
    patience: float = 10.0
    slowest: float = 50_000.0  # bytes per second
    connections: int = 256
    requests: int = 8  # of one member at once
    rate: float = 200.0  # requests of one member a second


@final
class Mailbox:
    """Belongs to one event loop."""

    def __init__(
        self,
        settings: MailboxSettings,
        cards: Iterable[Card],
        clock: Callable[[], float] = time.time,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._settings = settings
        self._members = members_by_key(cards)
        self._names = frozenset(self._members.values())
        self._folder = MailFolder(settings.folder, settings.bounds, clock)
        self._limits = Limits(settings.requests, settings.rate, loop.time)
        self._bell = Bell()
        self._storing: set[asyncio.Task[None]] = set()
        self._clock = clock
        self._http = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE,
            auto_decompress=False,
        )

    async def serve(self, ready: Callable[[int], None]) -> None:
        """Answer until this is cancelled; `ready` hears the port."""
        settings = self._settings
        loop = asyncio.get_running_loop()
        context = web_context(settings.certificate, settings.key)
        try:
            server = await loop.create_server(
                self._protocol,
                settings.host,
                settings.port,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE,
                backlog=BACKLOG,
            )
        except OSError as failure:
            raise InputError(
                f"The mailbox cannot listen at {settings.host}:{settings.port} "
                f"({reason(failure)}); choose another address with --listen."
            ) from failure
        ready(server.sockets[0].getsockname()[1])
        try:
            while True:
                self._folder.sweep()
                await asyncio.sleep(SWEEP)
        finally:
            server.close()
            await self._http.shutdown(1.0)

    def _protocol(self) -> asyncio.Protocol:
        if len(self._http.connections) >= self._settings.connections:
            return _Closing()
        return self._http()

    # ------------------------------------------------------------------ requests
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refused as failure:
            return web.Response(status=failure.status, text=str(failure))
        except OSError as failure:
            said = f"The mailbox cannot store or read this: {reason(failure)}."
            return web.Response(status=FULL, text=said)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        place = parsed_box(request.raw_path)
        if place is None:
            raise Refused(404, "There is nothing here.")
        who = signer(
            request.headers,
            request.method,
            request.raw_path,
            self._members,
            self._clock(),
        )
        ticket = self._limits.enter(who, f"{request.method} {place.run}")
        if ticket is None:
            raise Refused(429, "Too many requests.")
        try:
            return await self._done(request, who, place, ticket)
        finally:
            self._limits.leave(who, ticket)

    async def _done(
        self, request: web.BaseRequest, who: str, place: BoxPath, ticket: Ticket
    ) -> web.StreamResponse:
        item = place.item
        if request.method == GET and who == place.target:
            if item is not None:
                self._folder.remove(place)
            return await self._next(place, ticket)
        if item is None or who != item.source:
            raise Refused(403, f"This cannot be asked for by {who}.")
        if request.method == PUT:
            await self._put(request, who, place)
        elif request.method == DELETE:
            self._folder.remove(place)
        else:
            raise Refused(405, "Only GET, PUT and DELETE are known here.")
        return web.Response(status=204)

    async def _put(self, request: web.BaseRequest, who: str, place: BoxPath) -> None:
        length = request.content_length
        if place.target not in self._names:
            raise Refused(404, f"This mailbox has no card of {place.target}.")
        if length is None or hdrs.CONTENT_ENCODING in request.headers:
            raise Refused(411, "The length must be said, and nothing be encoded.")
        with self._folder.reserved(who, length):
            content = await self._read(request, length)
            if digest_of(content) != request.headers[DIGEST_HEADER]:
                raise Refused(400, "The body is not the one that was signed.")
            storing = asyncio.create_task(self._store(place, content))
            self._storing.add(storing)
            storing.add_done_callback(self._storing.discard)
            await asyncio.shield(
                storing
            )  # a caller that goes away leaves no unknown file

    async def _store(self, place: BoxPath, content: bytes) -> None:
        await asyncio.to_thread(self._folder.write, place, content)
        self._folder.show(place, len(content))
        self._bell.ring()

    async def _read(self, request: web.BaseRequest, length: int) -> bytes:
        seconds = self._settings.patience + length / self._settings.slowest
        try:
            async with asyncio.timeout(seconds):
                return await request.content.readexactly(length) if length else b""
        except (TimeoutError, asyncio.IncompleteReadError):
            raise Refused(408, "The body did not come in time.") from None

    async def _next(self, box: BoxPath, ticket: Ticket) -> web.StreamResponse:
        until = asyncio.get_running_loop().time() + self._settings.long_poll
        while True:
            place = self._folder.oldest(box)
            if place is not None and place.item is not None:
                content = await asyncio.to_thread(self._folder.read, place)
                if content is not None:
                    headers = {ITEM_HEADER: place.item.text}
                    return web.Response(body=content, headers=headers)
                self._folder.remove(place)  # its file is gone
                continue
            ticket.future = self._bell.listen(until)
            if not await ticket.future:
                return web.Response(status=204)


class _Closing(asyncio.Protocol):
    """There are too many connections."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        transport.close()


def members_by_key(cards: Iterable[Card]) -> dict[str, str]:
    """Names by keys; two cards of one name, or with one key, are refused."""
    found: dict[str, str] = {}
    for card in cards:
        if card.key in found or card.name in found.values():
            raise InputError(f"Two cards have the name or the key of {card.name}.")
        found[card.key] = card.name
    if not found:
        raise InputError("A mailbox needs the cards of its members.")
    return found


def web_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """An ordinary web server's; proxies that inspect may not know TLS 1.3."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Certificate {str(certificate)!r} and key {str(key)!r} cannot be used: "
            f"{reason(failure)}."
        ) from failure
    return context
