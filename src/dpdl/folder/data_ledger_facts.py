"""What a person asks the ledger of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpdl.folder.data_ledger_books import RunBalance, added, steps_of
from dpdl.folder.data_ledger_budget import composed
from dpdl.folder.data_ledger_entries import LedgerTerms
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Record


@final
@dataclass(frozen=True)
class RunSpending(Record):
    """What one run has spent and reserved."""

    run: str
    rounds_spent: int
    rounds_reserved: int
    epsilon: Epsilon  # of both, if it were alone
    threat: str  # whom that is against


@final
@dataclass(frozen=True)
class LedgerFacts(Record):
    """All that `dpdl data ledger show --json` prints."""

    path: str
    about: str
    since: str
    budget: float
    delta: float
    relation: str
    adaptive: bool  # runs may be planned by what earlier ones showed
    spent: Epsilon
    reserved: Epsilon  # together with what is spent
    runs: tuple[RunSpending, ...]
    head: str


def facts_of(ledger: LedgerReader) -> LedgerFacts:
    """What a ledger says now."""
    terms, now = ledger.terms, ledger.epsilon()
    runs = [_of_run(terms, name, run) for name, run in ledger.runs().items()]
    return LedgerFacts(
        path=str(ledger.folder),
        about=terms.about,
        since=terms.time,
        budget=terms.epsilon,
        delta=terms.delta,
        relation=terms.relation,
        adaptive=terms.adaptive,
        spent=Epsilon(now.spent),
        reserved=Epsilon(now.reserved),
        runs=tuple(runs),
        head=ledger.head,
    )


def _of_run(terms: LedgerTerms, name: str, run: RunBalance) -> RunSpending:
    cost = composed(terms, added(run.spent, steps_of(run.left)))
    return RunSpending(
        name, run.rounds_spent, run.rounds_left, Epsilon(cost), run.threat
    )
