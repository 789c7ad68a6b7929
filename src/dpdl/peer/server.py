"""The listening side: TLS first, then HTTP, both within bounds.

A connection is accepted, and must finish its TLS 1.3 handshake with a certificate that is trusted,
before a byte of HTTP is parsed. Each request is then answered by the name that its certificate has.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, final

from aiohttp import web

from dpdl.errors import InputError, reason
from dpdl.peer.answering import Answering, ShortlyAnswered
from dpdl.peer.desk import Desk
from dpdl.peer.directory import Directory
from dpdl.peer.refusals import Refusals
from dpdl.peer.sockets import Sockets, abort
from dpdl.peer.trouble import turned_away
from dpdl.peer.wire import NetworkSettings

LINGERING = 1.0
"""Seconds for which the rest of a refused body is read and thrown away."""
SHUTDOWN = 1.0
"""Seconds for which a closing connection waits for the other side."""
BUFFER = 1 << 18
"""Bytes of a body that are buffered before the reading pauses."""
FEW = 0.05
"""Seconds until the next attempt to accept where there are no file descriptors left."""

QUIET = logging.getLogger("dpdl.peer.http")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False  # a hostile neighbour would fill the log with its bad requests


@final
@dataclass(eq=False)
class Incoming:
    """Somebody who has connected."""

    socket: socket.socket
    address: str
    begun: bool = False  # whether its handshake has


@final
class Server:
    """Accepts connections and hands requests to the desk."""

    def __init__(
        self,
        directory: Directory,
        desk: Desk,
        settings: NetworkSettings,
        refused: Callable[[str, str], None],
    ) -> None:
        """`refused` hears whom this site turned away, and why."""
        self._directory = directory
        self._settings = settings
        self._refusals = Refusals(refused, asyncio.get_running_loop().time)
        self._answering = Answering(desk, settings, self._refusals.note)
        self._listening: socket.socket | None = None
        self._handshakes: dict[asyncio.Task[None], None] = {}  # the oldest first
        self._sockets = Sockets()
        self._http = web.Server(
            self._handle,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            logger=QUIET,
            keepalive_timeout=settings.idle,
            auto_decompress=False,
            lingering_time=LINGERING,
            read_bufsize=BUFFER,
        )

    # ------------------------------------------------------------------ listening
    def listen(self) -> int:
        """Begin to listen; the port."""
        host, port = self._settings.host, self._settings.port
        try:
            self._listening = _listening(host, port, self._settings.backlog)
        except OSError as failure:
            raise InputError(
                f"This site cannot listen at {host}:{port} ({reason(failure)}); end what uses "
                "the port, or choose another one with listen in peer.toml."
            ) from failure
        self._watch(self._listening)
        found: int = self._listening.getsockname()[1]
        return found

    async def close(self) -> None:
        """End all connections at once, whatever the other sides do."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
        tasks = list(self._handshakes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in self._http.connections:
            if connection.transport is not None:
                abort(connection.transport)
        await self._http.shutdown(SHUTDOWN)
        await self._sockets.shut()

    # ------------------------------------------------------------------ connections
    def _watch(self, listening: socket.socket) -> None:
        # A coroutine that accepts loses a socket where it is cancelled at the wrong moment.
        if listening.fileno() != -1:
            loop = asyncio.get_running_loop()
            loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Take one caller; the loop comes back as long as there are more."""
        try:
            incoming, (host, *_) = listening.accept()
        except (BlockingIOError, ConnectionError):  # the caller is gone
            return
        except OSError:  # no file descriptors are left
            loop = asyncio.get_running_loop()
            loop.remove_reader(listening)
            loop.call_later(FEW, self._watch, listening)
            return
        incoming.setblocking(False)
        self._sockets.add(incoming)
        if self._has_room():
            self._shake(Incoming(incoming, str(host)))
        else:
            incoming.close()
            self._refusals.note(str(host), "There are too many connections.")

    def _shake(self, incoming: Incoming) -> None:
        """Begin a handshake; where it ends before it begins, nobody else has the socket."""

        def ended(task: asyncio.Task[None]) -> None:
            del self._handshakes[task]
            if not incoming.begun:
                incoming.socket.close()

        task = _task(self._welcome(incoming))
        self._handshakes[task] = None
        task.add_done_callback(ended)

    def _has_room(self) -> bool:
        """Whether one more fits; where it does not, the oldest unfinished handshake gives way."""
        used = len(self._handshakes) + len(self._http.connections)
        if used < self._settings.connections:
            return True
        return any(task.cancel() for task in self._handshakes)

    async def _welcome(self, incoming: Incoming) -> None:
        incoming.begun = True
        address = incoming.address
        loop = asyncio.get_running_loop()
        watched = self._refusals.is_suspect(address)
        try:
            transport, _ = await loop.connect_accepted_socket(
                self._http,
                incoming.socket,
                ssl=self._directory.watched if watched else self._directory.server,
                ssl_handshake_timeout=self._settings.handshake,
                ssl_shutdown_timeout=SHUTDOWN,
            )
        except OSError as failure:  # SSLError and TimeoutError are OSErrors
            unknown = isinstance(failure, ssl.SSLCertVerificationError)
            self._refusals.note(address, turned_away(failure), unknown and not watched)
            return
        name = self._owner(transport)
        if name is None:
            self._refusals.note(address, "Its certificate is of no neighbour.")
        elif self._connections_of(name) > self._settings.connections_each:
            abort(transport)
            self._refusals.note(address, f"{name} has too many connections.")

    def _owner(self, transport: asyncio.BaseTransport | None) -> str | None:
        if transport is None:
            return None
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        return None if certificate is None else self._directory.who(certificate)

    def _connections_of(self, name: str) -> int:
        owners = [self._owner(one.transport) for one in self._http.connections]
        return owners.count(name)

    def _request(
        self, message: Any, body: Any, protocol: Any, writer: Any, task: Any
    ) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        return ShortlyAnswered(message, body, protocol, writer, task, loop)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self._answering.handle(self._owner(request.transport), request)


def _listening(host: str, port: int, backlog: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.create_server(
        (host, port), family=family, backlog=backlog, reuse_port=False
    )
    found.setblocking(False)
    return found


def _task(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)
