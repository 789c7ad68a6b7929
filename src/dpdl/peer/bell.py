"""Long polls wait for a bell; who rings it makes all of them look again."""

from __future__ import annotations

import asyncio
from typing import final


@final
class Bell:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[bool]] = set()

    def ring(self) -> None:
        """Wake all who wait."""
        for future in self._waiting:
            end(future, rung=True)

    def listen(self, until: float) -> asyncio.Future[bool]:
        """Whether the bell rings before this time of the loop; `end` may end it sooner."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        alarm = loop.call_at(until, end, future)
        self._waiting.add(future)
        future.add_done_callback(lambda done: self._leave(done, alarm))
        return future

    def _leave(self, done: asyncio.Future[bool], alarm: asyncio.TimerHandle) -> None:
        alarm.cancel()
        self._waiting.discard(done)


def end(future: asyncio.Future[bool], rung: bool = False) -> None:
    """Tell who listens that the bell has rung, or that it does not matter any more."""
    if not future.done():
        future.set_result(rung)
