"""A tracker that keeps what it is told in memory, and fails where it is asked to."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpdl.trackers.base import (
    HERE,
    About,
    Destination,
    Entries,
    Environment,
    Outcome,
    TrackerFailed,
)


@dataclass
class StandIn:
    """`fails` is one of open, log, close; `late`: a round is kept when the run is closed."""

    fails: str = ""
    failure: BaseException = field(default_factory=lambda: TrackerFailed("it is gone"))
    late: bool = False
    where: str = HERE
    sends: bool = False
    wait: threading.Event | None = None
    abouts: list[About] = field(default_factory=list)
    told: dict[str, list[tuple[int, Mapping[str, float]]]] = field(default_factory=dict)
    ends: list[tuple[Outcome, Entries]] = field(default_factory=list)

    def libraries(self, environment: Environment) -> Sequence[str]:
        return ()

    def destination(self, environment: Environment) -> Destination:
        return Destination(self.where, self.sends)

    def open(self, about: About, environment: Environment) -> StandInSession:
        if self.wait:
            self.wait.wait(60)
        self.abouts.append(about)
        self.fail_in("open")
        name = about.id or f"run{len(self.told)}"
        self.told.setdefault(name, [])
        return StandInSession(self, name, about.kept)

    def fail_in(self, call: str) -> None:
        if self.fails == call:
            raise self.failure

    @property
    def rounds(self) -> dict[str, list[int]]:
        return {name: [t for t, _ in rows] for name, rows in self.told.items()}


class StandInSession:
    def __init__(self, tracker: StandIn, name: str, kept: int) -> None:
        self.tracker, self.id, self.kept, self.last = tracker, name, kept, kept

    def log(self, t: int, values: Mapping[str, float]) -> None:
        if t > 2:
            self.tracker.fail_in("log")
        self.tracker.told[self.id].append((t, values))
        self.last = t
        self.kept = self.kept if self.tracker.late else t

    def close(self, outcome: Outcome, summary: Entries) -> None:
        self.tracker.fail_in("close")
        self.kept = self.last
        self.tracker.ends.append((outcome, summary))


def trackers(**by_name: Any) -> dict[str, Any]:
    """As `Tracker` and `OneRun` take them."""
    return by_name
