"""A link between two processes that takes time and counts bytes, for measurements.

    with SlowLink(server_port, delay=0.025) as link:
        ...connect to link.port...

It runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Self, final

HOST = "127.0.0.1"
CHUNK = 1 << 16
START = 10.0
"""Seconds in which the thread must have begun, or ended."""

Chunks = asyncio.Queue[tuple[float, bytes]]


@final
class SlowLink:
    """Connections to `port` arrive at `target`, each way `delay` seconds later, in order."""

    def __init__(self, target: int, delay: float = 0.0) -> None:
        self.target = target
        self.delay = delay
        self.port = 0
        self.passed = 0  # bytes, both ways
        self._loop = asyncio.new_event_loop()
        self._ready, self._end = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(START)
        return self

    def __exit__(self, *failure: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(START)

    # ------------------------------------------------------------------ the thread
    def _live(self) -> None:
        try:
            self._loop.run_until_complete(self._work())
        finally:
            self._loop.close()

    async def _work(self) -> None:
        server = await asyncio.start_server(self._connected, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # closed transports say so in the next turn

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            beyond, onward = await asyncio.open_connection(HOST, self.target)
        except OSError:  # nobody listens there yet: the caller will try again
            writer.transport.abort()
            return
        try:
            await asyncio.gather(self._pass(reader, onward), self._pass(beyond, writer))
        except OSError:
            pass
        finally:
            onward.transport.abort()
            writer.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        chunks: Chunks = asyncio.Queue()
        writing = asyncio.create_task(self._write(chunks, writer))
        try:
            while content := await reader.read(CHUNK):
                self.passed += len(content)
                chunks.put_nowait((self._loop.time() + self.delay, content))
            chunks.put_nowait((self._loop.time() + self.delay, b""))
            await writing
        finally:
            writing.cancel()

    async def _write(self, chunks: Chunks, writer: asyncio.StreamWriter) -> None:
        while True:
            due, content = await chunks.get()
            if (wait := due - self._loop.time()) > 0:
                await asyncio.sleep(wait)
            if not content:
                writer.write_eof()
                return
            writer.write(content)
            await writer.drain()
