r"""The log of what happened to a peer, as a chain of hashes.

    hash_0 = SHA-256("dpdl-events-1\0" + run)
    hash_n = SHA-256(hash_{n-1} + JSON [n, time, kind, text])

A line that was changed, taken out, put in or moved breaks the chain from there on. Who can write
the file can also write a new chain: only a copy of a later hash elsewhere shows that.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, final

LONGEST = 1 << 14
"""Characters of a line: what strangers make us write down has an end."""


BURST = 60
"""Lines of one kind that are written at once."""
PAUSE = 60.0
"""Seconds after which one more is."""


class Event(NamedTuple):
    """A line of the log."""

    number: int  # from 1
    time: str  # ISO, UTC
    kind: str
    text: str
    hash: str


def first_hash(run: str) -> str:
    """What the first line of a run's log is chained to."""
    return hashlib.sha256(b"dpdl-events-1\0" + run.encode()).hexdigest()


def following(before: str, number: int, time: str, kind: str, text: str) -> Event:
    """The line after the one with the hash `before`; a long text loses its end."""
    text = text[:LONGEST]
    content = json.dumps([number, time, kind, text], separators=(",", ":")).encode()
    chained = hashlib.sha256(bytes.fromhex(before) + content).hexdigest()
    return Event(number, time, kind, text, chained)


def first_broken(run: str, events: Iterable[Event]) -> int | None:
    """The number of the first line that is not what was written; None: all of them are."""
    before = first_hash(run)
    for number, event in enumerate(events, 1):
        written = following(before, number, event.time, event.kind, event.text)
        if event != written:
            return number
        before = event.hash
    return None


@final
class Throttle:
    """What strangers can cause is written down `BURST` times, and then once in `PAUSE` seconds.

    Otherwise whoever can reach the port could fill the disk.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free: dict[str, tuple[float, float]] = {}  # kind -> lines left, at a time
        self._left_out: dict[str, int] = {}

    def admit(self, kind: str) -> int | None:
        """How many lines of this kind were left out before this one; None: so is this."""
        now = self._clock()
        free, then = self._free.get(kind, (float(BURST), now))
        free = min(free + (now - then) / PAUSE, float(BURST))
        self._free[kind] = max(free - 1, 0.0) if free >= 1 else free, now
        if free >= 1:
            return self._left_out.pop(kind, 0)
        self._left_out[kind] = self._left_out.get(kind, 0) + 1
        return None
