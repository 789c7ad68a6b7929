"""What `dpdl attack` is asked for; what is wrong is refused before torch is imported."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from dpdl.attacks.effort import Effort
from dpdl.errors import unknown
from dpdl.training.recording_request import numbers_of

SCENARIOS = ("cg", "mm", "self", "step")
"""Names; a test holds them to `dpdl.attacks.scenarios`."""
ALL = "all"
OWN = "own"
"""In place of a size: the run's own batches."""


@final
@dataclass(frozen=True)
class AttackRequest:
    """What to attack of every recording, as a person writes it, and what to make of it."""

    scenario: str | None = None  # names, separated by commas; None: all possible ones
    rounds: str = ALL  # numbers, separated by commas
    batch: str | None = None  # sizes, separated by commas; None: the smallest recorded
    whose: str = ALL  # numbers of agents, separated by commas
    labels: str = "known"
    effort: Effort = field(default_factory=Effort)
    membership: bool = False  # also ask of records whether they were in the batch
    gallery: Path | None = None  # one more copy of the picture
    jobs: int | None = None  # processes; None: one for every core
    stop: threading.Event | None = None  # set to leave the work

    def __post_init__(self) -> None:
        for name in [] if self.scenario in (None, ALL) else self.scenario.split(","):
            if name not in SCENARIOS:
                raise unknown("scenario", name, SCENARIOS)
        if self.rounds != ALL:
            numbers_of(self.rounds, "Rounds")
        if self.batch is not None:
            sizes_of(self.batch, 0)

    @property
    def agents(self) -> tuple[int, ...] | None:
        """The agents whose records are rebuilt; None: all."""
        return None if self.whose == ALL else numbers_of(self.whose, "Agents")


def sizes_of(text: str, own: int) -> list[int | None]:
    """Sizes of batches, separated by commas; None stands for the run's own."""
    found: list[int | None] = []
    for size in text.split(","):
        found += [None] if size in (OWN, str(own)) else numbers_of(size, "Batches")
    return found
