from __future__ import annotations

import asyncio
import socket
import time

from dpdl.peer.sockets import Sockets


def test_connections_that_wait_for_the_other_side_end():
    async def work() -> None:
        known = Sockets()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            caller = known.add(socket.create_connection(listening.getsockname()))
            other, _ = listening.accept()
            caller.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=caller)
            begun = time.monotonic()
            await asyncio.gather(known.shut(), _closing(reader, writer))
            assert time.monotonic() - begun < 1
            assert caller.fileno() == -1
            assert other.recv(1) == b""
            other.close()

    asyncio.run(work())


async def _closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    assert await reader.read() == b""
    writer.close()


def test_sockets_that_have_ended_are_no_trouble():
    async def work() -> None:
        known = Sockets()
        known.add(socket.socket()).close()
        await known.shut()

    asyncio.run(work())
