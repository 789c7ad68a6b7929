"""Which frame a neighbour sends next: rounds repeat, so it can be asked for before it is needed.

A frame whose question is there before it needs half a round trip; one that is asked for on demand a
whole one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final


class Look(NamedTuple):
    """How an expected frame looks, apart from its address."""

    channel: str
    dtype: str
    shape: tuple[int, ...]


@final
@dataclass
class _Phase:
    """The exchanges of the last round of a phase, and of the one before it."""

    round: int
    steps: dict[int, Look]
    before: dict[int, Look]


@final
class Pattern:
    """The exchanges of a round with one neighbour, as they were `period` rounds ago.

    A first round may have exchanges that no other has: what was expected because of it and never
    came is forgotten a round later.
    """

    def __init__(self, period: int, last: int) -> None:
        """`last` is the last round of the run: nothing is asked for beyond it."""
        self._period = period
        self._last = last
        self._phases: dict[int, _Phase] = {}

    def note(self, round: int, step: int, look: Look) -> None:
        """A frame of this look was expected."""
        phase = self._phases.setdefault(round % self._period, _Phase(round, {}, {}))
        if phase.round != round:
            phase.round, phase.before, phase.steps = round, phase.steps, {}
        phase.steps[step] = look

    def after(self, round: int, step: int) -> tuple[int, int, Look] | None:
        """Round, step and look of the frame that follows; None: nobody can say."""
        for later, above in ((round, step), (round + 1, -1)):
            steps = self._steps(later)
            following = sorted(number for number in steps if number > above)
            if following and later <= self._last:
                return later, following[0], steps[following[0]]
        return None

    def _steps(self, round: int) -> dict[int, Look]:
        phase = self._phases.get(round % self._period)
        if phase is None:
            return {}
        return {**phase.before, **phase.steps} if phase.round == round else phase.steps
