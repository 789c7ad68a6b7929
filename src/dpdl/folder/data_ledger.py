"""The ledger of a data set: all runs on it share one budget.

It stands beside the data, in `FILE.dpdl-ledger/ledger.sqlite`, so that whoever uses the file finds
it. A run *reserves* its rounds before it begins: everything that was ever spent, everything that is
reserved and the new rounds are composed by the accountant, and more than the budget is refused. A
round is *debited* before anything of it leaves, which turns a part of the reservation into spending
and costs one fsync. What a finished run did not use is *released*.

    epsilon(all debits + all reservations) <= budget, always

Mechanisms are stored, epsilons derived. Entries are only added, each with the hash of the one
before it (`data_ledger_entries`), and checked whenever the file is opened. `docs/ledger.md` proves
what the sum means, and says what the ledger cannot notice.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self

from dpdl import __version__
from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder import names
from dpdl.folder.data_ledger_books import Books, RunBalance
from dpdl.folder.data_ledger_budget import check_budget, check_relation, refuse_beyond
from dpdl.folder.data_ledger_entries import (
    Charge,
    Debited,
    LedgerTerms,
    Released,
    Reserved,
    check_name,
    now,
)
from dpdl.folder.data_ledger_journal import begin
from dpdl.folder.data_ledger_place import new_ledger_folder
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.text import shown

EAVESDROPPER = "eavesdropper"


class DataLedger(LedgerReader):
    """An open ledger. Any number of processes and threads may have it open."""

    # ------------------------------------------------------------------ beginning
    @classmethod
    def create(
        cls,
        path: Path | str,
        budget_epsilon: float,
        budget_delta: float,
        relation: str = "add-remove",
        about: str = "",
        time: str | None = None,
        *,
        adaptive: bool = False,
    ) -> Self:
        """A new ledger: beside `path` if that is a file, else in a folder of that name.

        With `adaptive`, runs may be planned by what earlier ones showed (`dpdl.privacy.filter`).
        """
        check_budget(budget_epsilon, budget_delta)
        check_relation(relation)
        terms = LedgerTerms(
            version=__version__,
            id=secrets.token_hex(16),
            epsilon=float(budget_epsilon),
            delta=float(budget_delta),
            relation=relation,
            adaptive=adaptive,
            about=check_name("about", about or _name(path)),
            time=time or now(),
        )
        with new_ledger_folder(Path(path)) as folder:
            begin(folder / names.DATA_LEDGER, terms)
        return cls.open(path)

    # ------------------------------------------------------------------ reserving
    def reserve(
        self,
        run: str,
        charges: Sequence[Charge],
        time: str | None = None,
        *,
        view: int = 0,
        threat: str = EAVESDROPPER,
        relation: str | None = None,
    ) -> None:
        """Keep room for the rounds of a run, or refuse if there is none.

        The rounds are debited in the order of `charges`. Asking again for the same, before any
        round, changes nothing. `relation`, if given, must be that of the ledger; `threat` says whom
        the charges are about.
        """
        wanted = self._wanted(run, view, charges, time, threat, relation)
        standing = self.run(run)
        if standing.left == list(wanted.charges) and not standing.spent:
            return

        def enter(books: Books) -> None:
            if books.run(run).left:
                raise InputError(
                    f"Ledger {str(self.folder)!r} has a reservation for the run {shown(run)} "
                    "already; release it first."
                )
            self._journal.add(wanted)

        self._with_room(wanted, enter)

    def replace_reservation(
        self,
        run: str,
        view: int,
        charges: Sequence[Charge],
        time: str | None = None,
        *,
        threat: str = EAVESDROPPER,
        relation: str | None = None,
    ) -> None:
        """Release what a run has left, and reserve for a later view, at once.

        From then on rounds of earlier views are refused. If there is no room, the old reservation
        stays.
        """
        wanted = self._wanted(run, view, charges, time, threat, relation)

        def enter(books: Books) -> None:
            if run in books.runs and view <= books.run(run).view:
                raise InputError(
                    f"The run {shown(run)} has begun view {books.run(run).view} already; view "
                    f"{view} cannot follow."
                )
            self._release(books, run, wanted.time)
            self._journal.add(wanted)

        self._with_room(wanted, enter, releasing=run)

    def release(self, run: str, time: str | None = None) -> int:
        """Return what a run has not used; how many rounds that were."""
        with self._journal.writing() as books:
            rounds = books.run(run).rounds_left
            self._release(books, run, time or now())
        return rounds

    def withdraw(self, run: str, time: str | None = None) -> None:
        """Return all that a run has reserved; refused once a round was debited."""
        with self._journal.writing() as books:
            if spent := books.run(run).rounds_spent:
                raise InputError(
                    f"The run {shown(run)} cannot be withdrawn: {spent} of its rounds are spent."
                )
            self._release(books, run, time or now())

    # ------------------------------------------------------------------ spending
    def debit(self, run: str, view: int, round: int) -> bool:
        """A round is about to leave: it is spent when this returns. False: it was already.

        Refused if nothing is reserved for it. One fsync.
        """
        with self._journal.writing() as books:
            if self._file.debited(run, view, round):
                return False
            standing = books.run(run)
            if view < standing.view:
                raise InputError(
                    f"The run {shown(run)} went on with view {standing.view}; a round of view "
                    f"{view} may no longer leave."
                )
            if not standing.left:
                raise PrivacyRefused(
                    f"Ledger {str(self.folder)!r} has nothing reserved for round {round} of the "
                    f"run {shown(run)}; the round does not leave."
                )
            charge = standing.left[0].times(1)
            self._journal.add(Debited(run=run, view=view, round=round, charge=charge))
        return True

    def spent_up_to(
        self, run: str, view: int, round: int, charge: Charge | None = None
    ) -> int:
        """Count all rounds up to one as spent, also beyond what is reserved; how many are new.

        For a ledger that is older than what left: what is not known to be unspent is spent.
        `charge` is what a round costs where the ledger has never heard of the run.
        """
        with self._journal.writing() as books:
            known = self._file.rounds(run)
            missing = [t for t in range(1, round + 1) if t not in known]
            for t in missing:
                cost, beyond = self._cost(books.run(run), run, charge)
                self._journal.add(
                    Debited(run=run, view=view, round=t, charge=cost, beyond=beyond)
                )
        return len(missing)

    # ------------------------------------------------------------------ entering
    def _cost(
        self, standing: RunBalance, run: str, otherwise: Charge | None
    ) -> tuple[Charge, Literal[True] | None]:
        """What the next round of a run costs, and whether nothing is reserved for it."""
        if standing.left:
            return standing.left[0].times(1), None
        last = otherwise or standing.last
        if last is None:
            raise InputError(
                f"Ledger {str(self.folder)!r} does not know the run {shown(run)}, nor what its "
                "rounds cost."
            )
        return last.times(1), True

    def _release(self, books: Books, run: str, time: str) -> None:
        if books.run(run).left:
            self._journal.add(Released(run=run, time=time))

    def _wanted(
        self,
        run: str,
        view: int,
        charges: Sequence[Charge],
        time: str | None,
        threat: str,
        relation: str | None,
    ) -> Reserved:
        """The entry that is asked for."""
        self.check_relation(relation or self.terms.relation)
        return Reserved(
            run=check_name("The name of a run", run),
            view=view,
            charges=tuple(charges),
            threat=threat,
            time=time or now(),
        )

    def _with_room(
        self,
        wanted: Reserved,
        enter: Callable[[Books], None],
        releasing: str | None = None,
    ) -> None:
        """Enter what is wanted if the budget has room for it.

        The accountant may take seconds. Nobody waits for it: only if somebody else reserved or
        released in the meantime is it asked again.
        """
        while True:
            before = self._journal.current().committed(releasing)
            refuse_beyond(str(self.folder), self.terms, before, wanted.charges)
            with self._journal.writing() as books:
                if books.committed(releasing) == before:
                    enter(books)
                    return


def _name(path: Path | str) -> str:
    """What a ledger is about unless somebody says it."""
    return Path(path).name.removesuffix(names.DATA_LEDGER_FOLDER)
