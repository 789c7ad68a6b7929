"""Who may look on while the story is told."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, final

from dpdl.attacks.workers import ShareWatch
from dpdl.audit.measure import CountWatch
from dpdl.folder.demo_facts import DemoPart
from dpdl.planning.plan import Plan
from dpdl.studies.demo.script import ScriptPart
from dpdl.training.loop import Watch


class DemoWatch(Protocol):
    """Each method that opens a context gives what the work calls on its way."""

    @property
    def shown(self) -> bool:
        """Whether somebody looks on: then data sets are fetched with a progress bar, too."""
        ...

    def begin(self, part: ScriptPart, found: bool) -> None:
        """A part begins; `found`: its run was finished before."""
        ...

    def doing(self, what: str) -> None:
        """Something is under way from now on, nobody knows how far."""
        ...

    def training(self, plan: Plan) -> AbstractContextManager[Watch]:
        """A run is trained."""
        ...

    def attacking(self, images: int) -> AbstractContextManager[ShareWatch]:
        """So many images are rebuilt."""
        ...

    def auditing(self, what: str, count: int) -> AbstractContextManager[CountWatch]:
        """So many rounds or trials are audited."""
        ...

    def end(self, part: DemoPart) -> None:
        """A part is told."""
        ...


@final
class Unwatched:
    """Nobody looks on."""

    shown = False

    def begin(self, part: ScriptPart, found: bool) -> None:
        """In silence."""

    def doing(self, what: str) -> None:
        """In silence."""

    def training(self, plan: Plan) -> AbstractContextManager[Watch]:
        """In silence."""
        return nullcontext(lambda t, metrics: None)

    def attacking(self, images: int) -> AbstractContextManager[ShareWatch]:
        """In silence."""
        return nullcontext(lambda share: None)

    def auditing(self, what: str, count: int) -> AbstractContextManager[CountWatch]:
        """In silence."""
        return nullcontext(lambda done: None)

    def end(self, part: DemoPart) -> None:
        """In silence."""
