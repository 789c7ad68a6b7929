"""What this peer's server shows its neighbours, and what it takes from them.

All of it is called by the server's thread. Frames come from the database: what is shown is durable.
Where the database fails, the caller is told, and the peer stops: its own thread may be waiting for
that very caller, and would never notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import final

from dpdl.errors import DpdlError, RunFailed
from dpdl.peer.failures import (
    LedgerRollback,
    Refused,
    Rollback,
    SecondInstance,
    Violation,
)
from dpdl.peer.frame import Slot
from dpdl.peer.hello import Greeter
from dpdl.peer.standing import Standing
from dpdl.peer.store import Store
from dpdl.peer.views import OVER
from dpdl.peer.wire import EVIDENCE, MANIFEST

CONFLICT = 409
GONE = 410
TWICE = 423
UNAVAILABLE = 503


@final
@dataclass(frozen=True)
class OwnShelf:
    """The frames and documents of one run."""

    store: Store
    greeter: Greeter
    standing: Standing
    accept: Callable[[str, str, bytes], None]  # kind, name, content; raises InputError
    manifest: bytes = b""

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Tell the caller, and end this peer, if the database cannot be read or written."""
        try:
            yield
        except RunFailed as failure:
            raise self._stopped(failure) from failure

    def _stopped(self, failure: RunFailed) -> Refused:
        self.standing.fail(failure)
        said = f"{self.greeter.name} has stopped: its disk cannot be written or read."
        return Refused(UNAVAILABLE, said)

    def frame(self, slot: Slot, target: str) -> bytes | None:
        """A committed frame for a neighbour; None: not yet."""
        try:  # not `_stopping`: these two are called for every look of every poll
            return self.store.frame(slot, target)
        except RunFailed as failure:
            raise self._stopped(failure) from failure

    def over(self, view: int) -> bytes | None:
        """The statements that ended a view, signed by those who remain; None: it goes on."""
        try:
            return self.store.documents(OVER).get(str(view))
        except RunFailed as failure:
            raise self._stopped(failure) from failure

    def note(self, kind: str, text: str) -> None:
        """Add a line to the log; where that fails, this peer stops, and the caller goes on."""
        with suppress(Refused), self._stopping():
            self.store.log(kind, text)

    def heard(self, name: str, have: int) -> None:
        """A neighbour's last durable round."""
        self.standing.heard(name, have)

    def hello(self, name: str, content: bytes) -> bytes:
        """The answer to a neighbour's hello, which may stop this peer."""
        with self._stopping():
            return self._answer(name, content)

    def _answer(self, name: str, content: bytes) -> bytes:
        try:
            said = self.greeter.judged(name, content)
        except (Rollback, LedgerRollback) as failure:
            self.standing.fail(failure)
            raise Refused(UNAVAILABLE, f"{self.greeter.name} has stopped.") from failure
        except (SecondInstance, Violation) as failure:
            self.store.log("refused", f"hello of {name}: {failure}")
            if isinstance(failure, Violation):
                raise Refused(CONFLICT, str(failure)) from failure
            shown = self.greeter.text_for(name).decode()
            raise Refused(TWICE, f"{failure}{EVIDENCE}{shown}") from failure
        if said.view < self.store.here.view:
            raise Refused(GONE, f"View {said.view} is over.")
        self.standing.heard(name, said.have)
        return self.greeter.text_for(name)

    def document(self, kind: str, name: str) -> bytes | None:
        """A small document that neighbours pass on; the manifest is this run's."""
        if kind == MANIFEST:
            return self.manifest if name == self.greeter.run else None
        with self._stopping():
            return self.store.documents(kind).get(name)

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        """Keep a document, if its signature and its content are right."""
        with self._stopping():
            try:
                self.accept(kind, name, content)
            except RunFailed:
                raise
            except DpdlError as failure:
                self.store.log("refused", f"{kind} of {name} from {sender}: {failure}")
                raise Refused(CONFLICT, str(failure)) from failure
