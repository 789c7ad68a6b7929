"""How much one neighbour may ask for: places for requests at once, and a rate.

The bucket holds one second's worth of requests. A request whose answer is a frame that this
neighbour had not fetched before costs nothing: training may be as fast as it can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from dpdl.peer.bell import end
from dpdl.peer.frame import Slot

NEVER = Slot(-1, -1, -1)


@final
@dataclass(eq=False)
class Ticket:
    """The right to be answered; a held one can be called on by `future`."""

    path: str
    future: asyncio.Future[bool] | None = None  # what a long poll waits for


@final
@dataclass
class _Usage:
    """What one neighbour uses."""

    open: list[Ticket] = field(default_factory=list)
    tokens: float = 0.0
    filled: float = 0.0
    newest: Slot = NEVER


@final
class Limits:
    """Who uses how much; `clock` is in seconds."""

    def __init__(
        self, most: int, rate: float, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._most = most
        self._rate = rate
        self._clock = clock
        self._usage: dict[str, _Usage] = {}

    def enter(self, name: str, path: str) -> Ticket | None:
        """A place for one more request; None: too many.

        Where all places are taken, a long poll for the same path gives way: it is likely to be
        what is left of a connection that has broken.
        """
        usage = self._of(name)
        if not self._pay(usage):
            return None
        if len(usage.open) >= self._most and not self._displace(usage, path):
            return None
        ticket = Ticket(path)
        usage.open.append(ticket)
        return ticket

    def leave(self, name: str, ticket: Ticket) -> None:
        """The request was answered."""
        usage = self._of(name)
        if ticket in usage.open:
            usage.open.remove(ticket)

    def fetched(self, name: str, slot: Slot) -> None:
        """A frame was the answer; the first time, the request was free."""
        usage = self._of(name)
        if slot > usage.newest:
            usage.newest = slot
            usage.tokens += 1

    def refund(self, name: str) -> None:
        """The request was free."""
        self._of(name).tokens += 1

    def held(self, name: str) -> list[Ticket]:
        """The requests of a neighbour that are not answered yet."""
        return list(self._of(name).open)

    def _of(self, name: str) -> _Usage:
        if name not in self._usage:
            self._usage[name] = _Usage(tokens=self._rate, filled=self._clock())
        return self._usage[name]

    def _pay(self, usage: _Usage) -> bool:
        now = self._clock()
        gained = (now - usage.filled) * self._rate
        usage.tokens = min(self._rate, usage.tokens + gained)
        usage.filled = now
        if usage.tokens < 1:
            return False
        usage.tokens -= 1
        return True

    def _displace(self, usage: _Usage, path: str) -> bool:
        for ticket in usage.open:
            if ticket.path == path and ticket.future is not None:
                end(ticket.future)
                usage.open.remove(ticket)
                return True
        return False
