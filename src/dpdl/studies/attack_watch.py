"""Who may look on while runs are trained, attacked and audited."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, final

from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.workers import ShareWatch
from dpdl.audit.measure import CountWatch
from dpdl.planning.plan import Plan
from dpdl.training.loop import Watch

CaseWatch = Callable[[AttackCase], ShareWatch]
"""Called when a case begins; what it gives back is called as the case goes on."""


class AttackWatch(Protocol):
    """Each method opens a context for some work, and gives what the work calls on its way."""

    @property
    def shown(self) -> bool:
        """Whether somebody looks on: then data sets are fetched with a progress bar, too."""
        ...

    def training(self, plan: Plan) -> AbstractContextManager[Watch]:
        """A run is trained."""
        ...

    def attacking(self, cases: int) -> AbstractContextManager[CaseWatch]:
        """So many cases of a run are attacked."""
        ...

    def auditing(self, rounds: int) -> AbstractContextManager[CountWatch]:
        """So many rounds are audited."""
        ...


@final
class Unwatched:
    """Nobody looks on."""

    shown = False

    def training(self, plan: Plan) -> AbstractContextManager[Watch]:
        """In silence."""
        return nullcontext(lambda t, metrics: None)

    def attacking(self, cases: int) -> AbstractContextManager[CaseWatch]:
        """In silence."""
        return nullcontext(lambda case: lambda share: None)

    def auditing(self, rounds: int) -> AbstractContextManager[CountWatch]:
        """In silence."""
        return nullcontext(lambda done: None)
