"""What the entries of a data set's ledger add up to, taken one after the other.

An entry that does not follow from the ones before it is refused: its `prev` must be the hash of the
last one, and a round must have been reserved for. So a ledger that was changed is noticed whenever
it is used, unless somebody made all later hashes anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

from dpdl.errors import InputError
from dpdl.folder.data_ledger_entries import (
    FORMAT,
    START,
    Charge,
    Debited,
    Entry,
    LedgerTerms,
    Released,
    Reserved,
    entry_hash,
    entry_of,
)
from dpdl.privacy.accounting import Step

Totals = Mapping[Step, int]
"""How often each step happens."""


@dataclass
class RunBalance:
    """What one run has reserved, and what it has spent."""

    view: int = 0  # the least that a round may have
    threat: str = ""  # whom the last reservation was about
    began: str = ""  # when it was made
    left: list[Charge] = field(default_factory=list)  # in the order of rounds
    spent: Counter[Step] = field(default_factory=Counter)

    @property
    def rounds_left(self) -> int:
        """How many rounds are reserved and not spent."""
        return sum(charge.count for charge in self.left)

    @property
    def rounds_spent(self) -> int:
        """How many rounds are spent."""
        return self.spent.total()

    @property
    def last(self) -> Charge | None:
        """What a round that was spent cost; None: none was."""
        return next((Charge.of(step, 1) for step in self.spent), None)

    def take(self) -> None:
        """One round of the first charge is reserved no more."""
        first = self.left.pop(0)
        if first.count > 1:
            self.left.insert(0, first.times(first.count - 1))


class Books:
    """The state after some entries."""

    def __init__(self) -> None:
        self.head = START
        self.number = 0  # of the last entry, which are counted from 1
        self.runs: dict[str, RunBalance] = {}
        self._terms: LedgerTerms | None = None

    @property
    def terms(self) -> LedgerTerms:
        """The first entry."""
        if self._terms is None:
            raise InputError("It has no terms.")
        return self._terms

    def enter(self, text: str) -> Entry:
        """Take the next entry, or raise what is wrong with it."""
        entry = entry_of(text)
        if entry.prev != self.head:
            raise InputError("It does not follow the entry before it.")
        if isinstance(entry, LedgerTerms) != (self.number == 0):
            raise InputError("The terms must be the first entry, and no other one.")
        self._enter(entry)
        self.head = entry_hash(text)
        self.number += 1
        return entry

    def run(self, name: str) -> RunBalance:
        """How a run stands; one that is not known has nothing."""
        return self.runs.get(name) or RunBalance()

    @property
    def spent(self) -> Totals:
        """All rounds that left."""
        return added(*(run.spent for run in self.runs.values()))

    def committed(self, releasing: str | None = None) -> Totals:
        """All rounds that left, and all that are reserved, but for those of one run."""
        kept = [run for name, run in self.runs.items() if name != releasing]
        left = [charge for run in kept for charge in run.left]
        return added(self.spent, steps_of(left))

    @singledispatchmethod
    def _enter(self, entry: Entry) -> None:
        raise InputError(f"{type(entry).__name__} is no entry.")

    @_enter.register
    def _(self, entry: LedgerTerms) -> None:
        if entry.ledger != FORMAT:
            raise InputError(
                f"Format {entry.ledger} is that of another version of dpdl."
            )
        self._terms = entry

    @_enter.register
    def _(self, entry: Reserved) -> None:
        run = self.runs.setdefault(entry.run, RunBalance())
        if run.left or entry.view < run.view:
            raise InputError("It reserves over another reservation.")
        run.left = list(entry.charges)
        run.view, run.threat, run.began = entry.view, entry.threat, entry.time

    @_enter.register
    def _(self, entry: Debited) -> None:
        run = self.runs.setdefault(entry.run, RunBalance())
        if not entry.beyond:
            if not run.left or run.left[0].step != entry.charge.step:
                raise InputError("Nothing was reserved for its round.")
            run.take()
        run.spent[entry.charge.step] += entry.charge.count

    @_enter.register
    def _(self, entry: Released) -> None:
        self.runs.setdefault(entry.run, RunBalance()).left = []


def steps_of(charges: Sequence[Charge]) -> Totals:
    """Charges, counted by what a round costs."""
    total: Counter[Step] = Counter()
    for charge in charges:
        total[charge.step] += charge.count
    return total


def added(*totals: Totals) -> Totals:
    """All of some totals."""
    total: Counter[Step] = Counter()
    for one in totals:
        total.update(one)
    return total
