"""The ledger of a data set as it is read: what is spent and reserved, and whether it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.data_ledger_books import RunBalance, Totals, added, steps_of
from dpdl.folder.data_ledger_budget import Spending, composed, spending
from dpdl.folder.data_ledger_entries import Charge, Entry, entry_of
from dpdl.folder.data_ledger_file import PATIENCE, LedgerFile
from dpdl.folder.data_ledger_journal import Journal
from dpdl.folder.data_ledger_place import ledger_folder
from dpdl.text import shown


class LedgerReader:
    """An open ledger, as far as nothing is changed."""

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self.folder = folder
        self._file = LedgerFile(folder / names.DATA_LEDGER, patience)
        self._journal = Journal(self._file)
        try:
            self.terms = self._journal.current().terms
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path | str, patience: float = PATIENCE) -> Self:
        """The ledger of a file, or in a folder; one that was changed is refused.

        A writer waits up to `patience` seconds for another one.
        """
        return cls(ledger_folder(Path(path)), patience)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DataLedger({str(self.folder)!r})"

    # ------------------------------------------------------------------ what it says
    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return self._journal.current().head

    def holds(self, head: str) -> bool:
        """Whether this was the head once; if not, the ledger was restored or exchanged."""
        return self._file.holds(head)

    def entries(self) -> list[Entry]:
        """All of them, the terms first."""
        return [entry_of(row.text) for row in self._file.after(0)]

    def run(self, run: str) -> RunBalance:
        """What a run has reserved and spent."""
        return self._journal.current().run(run)

    def runs(self) -> dict[str, RunBalance]:
        """The same of all runs, in the order in which they came."""
        return dict(self._journal.current().runs)

    def epsilon(self) -> Spending:
        """What is spent and reserved, composed by the accountant."""
        books = self._journal.current()
        return spending(self.terms, books.spent, books.committed())

    def committed(self) -> Totals:
        """All rounds that are spent or reserved."""
        return self._journal.current().committed()

    def check_relation(self, relation: str) -> None:
        """Refuse what is about another relation than this ledger."""
        if relation != self.terms.relation:
            raise InputError(
                f"Ledger {str(self.folder)!r} is about {self.terms.relation}, not {relation}; "
                "plan the run with the same relation."
            )

    def epsilon_with(self, charges: Sequence[Charge]) -> float:
        """What would be spent and reserved if these rounds were added."""
        return composed(self.terms, added(self.committed(), steps_of(charges)))

    def verify(self, head: str | None = None) -> str:
        """Check everything from the first entry on, or refuse; the head.

        With `head`, one that somebody noted earlier: it must have been the head of this ledger.
        """
        if damage := self._file.damage():
            raise InputError(f"Ledger {str(self.folder)!r} is damaged: {damage}.")
        found = self._journal.afresh().head
        if head is not None and not self.holds(head):
            raise InputError(
                f"Ledger {str(self.folder)!r} has no entry with the hash {shown(head)}: it was "
                "restored from an older copy, or is another one."
            )
        return found
