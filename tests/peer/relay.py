"""A TCP relay between peers that delays, cuts and breaks connections, for tests.

    with Relay(server.port, delay=0.025) as relay:
        ...connect to relay.port...
        relay.cut()         # bytes wait, as when a cable is out; `cut("back")`: only answers do
        relay.heal()        # and go on, in order
        relay.drop()        # all connections are reset
        relay.halve()       # of the next bytes of each answer, half arrive; then a reset

It runs in a thread of its own; all methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Self

OUT, BACK = "out", "back"
"""From who connects to the target, and from the target to who connects."""
CHUNK = 1 << 18
HOST = "127.0.0.1"


class Relay:
    """Connections to `port` arrive at `target_port`, each way `delay` seconds later."""

    def __init__(self, target_port: int, delay: float = 0.0) -> None:
        self.target_port = target_port
        self.delay = delay
        self.port = 0
        self.connections = 0  # that were ever made
        self.passed = {OUT: 0, BACK: 0}  # bytes
        self._halving = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._clear: dict[str, asyncio.Event] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *failure: object) -> None:
        self._soon(self._end.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    # ------------------------------------------------------------------ controls
    def cut(self, direction: str | None = None) -> None:
        """Nothing passes any more, or nothing in one direction; who connects hears nothing."""
        for one in self._directions(direction):
            self._soon(self._clear[one].clear)

    def heal(self, direction: str | None = None) -> None:
        """What waits passes."""
        for one in self._directions(direction):
            self._soon(self._clear[one].set)

    def drop(self) -> None:
        """Reset all connections that are open now."""
        self._soon(self._reset_all)

    def halve(self) -> None:
        """Let half of the next bytes back pass, then reset all connections."""
        self._halving = True

    def _directions(self, direction: str | None) -> list[str]:
        return [OUT, BACK] if direction is None else [direction]

    # ------------------------------------------------------------------ the thread
    def _soon(self, action) -> None:
        self._loop.call_soon_threadsafe(action)

    def _live(self) -> None:
        try:
            self._loop.run_until_complete(self._work())
        finally:
            self._loop.close()

    async def _work(self) -> None:
        self._end = asyncio.Event()
        for one in (OUT, BACK):
            self._clear[one] = asyncio.Event()
            self._clear[one].set()
        server = await asyncio.start_server(self._connected, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        self._reset_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)

    def _reset_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            beyond, onward = await asyncio.open_connection(HOST, self.target_port)
        except OSError:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(onward)
        try:
            await asyncio.gather(
                self._pump(reader, onward, OUT), self._pump(beyond, writer, BACK)
            )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in (writer, onward):
                one.transport.abort()
                self._writers.discard(one)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str
    ) -> None:
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        reading = asyncio.create_task(self._read(reader, queue))
        try:
            while True:
                due, content = await queue.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                await self._clear[way].wait()
                if not content:
                    break
                if way == BACK and self._halving:
                    self._halving = False
                    writer.write(content[: len(content) // 2])
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    self._reset_all()
                    return
                self.passed[way] += len(content)
                writer.write(content)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(
        self, reader: asyncio.StreamReader, queue: asyncio.Queue[tuple[float, bytes]]
    ) -> None:
        content = b" "
        while content:
            try:
                content = await reader.read(CHUNK)
            except OSError:
                content = b""
            queue.put_nowait((self._loop.time() + self.delay, content))
