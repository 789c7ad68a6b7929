"""Sockets that are known, so that all of them can be ended.

A TLS connection that is being closed waits for the other side, and one whose handshake was given
up may be left to itself; a network that ends waits for neither.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import final
from weakref import WeakSet

TURNS = 100
"""Turns of the loop in which a connection that was shut ends; it needs three."""


@final
class Sockets:
    """The sockets of one side of a network."""

    def __init__(self) -> None:
        self._known: WeakSet[socket.socket] = WeakSet()

    def add(self, one: socket.socket) -> socket.socket:
        """Remember a socket for as long as it exists."""
        self._known.add(one)
        return one

    async def shut(self) -> None:
        """End all connections that are open, without a word to the other side."""
        for one in list(self._known):
            with suppress(OSError):  # it has ended
                one.shutdown(socket.SHUT_RDWR)
        for _ in range(TURNS):
            if all(one.fileno() == -1 for one in self._known):
                return
            await asyncio.sleep(0)


def abort(transport: asyncio.BaseTransport) -> None:
    """End a connection without a word to the other side."""
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()
