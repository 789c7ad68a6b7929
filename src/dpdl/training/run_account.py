"""A run in the ledger of its data: what it will cost is reserved, and every round is paid first.

All agents of a run share the records that the ledger is about. A record is held by one agent at
most, so it pays for that agent's rounds only, and a run costs what its worst agent costs:

    step = (min sigma_eff, min D_i, max lost, adaptive if any is),   rounds = max_i rounds_i

dominates the rounds of every agent, so whoever holds the record, its part of the run is dominated
by what is charged. `docs/ledger.md` has the proof.

Every start of a run is a view of its own. A round that a crash interrupted is run again with other
noise, and is charged again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from dpdl.errors import Diverged, InputError
from dpdl.folder import names
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_budget import refuse_beyond
from dpdl.folder.data_ledger_entries import Charge
from dpdl.folder.ledger_content import LedgerContent, read
from dpdl.folder.ledger_note import LedgerNote
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.accounting import Step
from dpdl.privacy.threats import Threat, threat


class RunAccount:
    """One start of a run, and the ledger it pays into; on process 0."""

    def __init__(
        self,
        ledger: DataLedger,
        plan: PublicPlan,
        folder: Path | None,
        note: LedgerNote,
    ) -> None:
        self.ledger = ledger
        self._plan = plan
        self._folder = folder  # of the run; None: it has none
        self._note = note
        self._view = 0
        self._paid = 0
        self._counts = [0] * len(plan.graph)  # rounds of every agent since this start

    @property
    def run(self) -> str:
        """The name of the run in the ledger."""
        return self._note.run

    # ------------------------------------------------------------------ before the first round
    def refuse_beyond(self) -> None:
        """Refuse a run that the budget has no room for, before anything is written."""
        allowed = self._plan.allowance
        rounds = self._plan.experiment.rounds
        end = min(rounds, allowed.rounds) if allowed else rounds
        self._check_relation()
        committed = self.ledger.committed()
        where, terms = str(self.ledger.folder), self.ledger.terms
        refuse_beyond(where, terms, committed, self._charges(0, end))

    def begin(self, done: int, end: int) -> None:
        """Reserve the rounds after `done` up to `end`, in place of what earlier starts left."""
        self._keep()  # a reservation must never be without a run that knows of it
        charges = self._charges(done, end)
        known = self.ledger.runs().get(self.run)
        self._view = known.view + 1 if known else 0
        if charges:
            self.ledger.replace_reservation(
                self.run,
                self._view,
                charges,
                threat=str(self._listener),
                relation=self._plan.privacy.relation,
            )
        self._keep()

    def _charges(self, done: int, end: int) -> list[Charge]:
        model = self._plan.privacy
        step = costliest(model, self._listener, self.ledger.terms.delta)
        count = most_rounds(model, done, end)
        rounds = [Charge.of(step, count)] if count else []
        if done or model.centre is None:
            return rounds
        return [Charge.of(centre_step(model, self._listener), 1), *rounds]

    def _check_relation(self) -> None:
        self.ledger.check_relation(self._plan.privacy.relation)

    @property
    def _listener(self) -> Threat:
        return threat(self._plan.experiment.threat)

    def _keep(self) -> None:
        """Remember a head of the ledger: an older copy does not have it."""
        self._note = replace(self._note, head=self.ledger.head)
        if self._folder:
            self._note.write(self._folder)

    # ------------------------------------------------------------------ while it goes on
    @contextmanager
    def paying(self, done: int, end: int) -> Iterator[None]:
        """Reserve, and return what is left when the run has ended or cannot go on.

        A run that is interrupted keeps it.
        """
        self.begin(done, end)
        try:
            yield
        except Diverged:
            self.end()
            raise
        self.end()

    def debit(self, t: int) -> None:
        """Round t is about to leave.

        It is charged if some agent has then released more often than was paid for: where only some
        agents release in a round, a record pays for those of its own agent.
        """
        graph, disclosure = self._plan.graph, self._plan.algorithm.disclosure
        for agent in range(len(graph)):
            self._counts[agent] += disclosure.active(graph, agent, t)
        if max(self._counts) > self._paid:
            self.ledger.debit(self.run, self._view, t)
            self._paid += 1

    def debit_centre(self) -> None:
        """The centre of features is about to leave, before the first round."""
        self.ledger.debit(self.run, self._view, 0)

    def end(self) -> None:
        """Nothing more will leave."""
        self.ledger.release(self.run)
        self._keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ledger.close()


def costliest(model: PrivacyModel, listener: Threat, delta: float) -> Step:
    """A round that dominates those of all agents."""
    steps = [model.step(agent, listener, delta) for agent in range(len(model.graph))]
    return replace(
        steps[0],
        sigma=min(step.sigma for step in steps),
        records=min(step.records for step in steps),
        lost=max(step.lost for step in steps),
        adaptive=any(step.adaptive for step in steps),
    )


def centre_step(model: PrivacyModel, listener: Threat) -> Step:
    """The release of a centre that dominates those of all agents."""
    every = [model.beside(agent, listener)[0][0] for agent in range(len(model.graph))]
    return min(every, key=lambda step: step.sigma)


def most_rounds(model: PrivacyModel, done: int, end: int) -> int:
    """In how many of the rounds after `done` up to `end` an agent releases something, at most."""
    graph, disclosure = model.graph, model.algorithm.disclosure
    return max(
        disclosure.rounds(graph, agent, end) - disclosure.rounds(graph, agent, done)
        for agent in range(len(graph))
    )


def refuse_older(ledger: DataLedger, folder: Path, note: LedgerNote) -> None:
    """Refuse a ledger that lacks what a run has paid: it was restored, or is another one."""
    where = f"Ledger {str(ledger.folder)!r}"
    if ledger.terms.id != note.ledger:
        raise InputError(
            f"{where} is not the one that run {str(folder)!r} pays into, which was at "
            f"{note.path!r}."
        )
    paid = ledger.run(note.run).rounds_spent
    if not ledger.holds(note.head) or paid < _left(folder):
        raise InputError(
            f"{where} is older than run {str(folder)!r}, some of whose rounds are missing in it; "
            "put back the newer one: what left stays spent."
        )


def _left(folder: Path) -> int:
    """How often the agent that released most has released, centres included.

    As the run's own ledger says.
    """
    path = folder / names.LEDGER
    if not path.exists():
        return 0
    content = read(path)
    agents = range(len(content.header.records))
    return content.centre_lines + max(_charged_to(content, agent) for agent in agents)


def _charged_to(content: LedgerContent, agent: int) -> int:
    entries = content.entries
    return sum(entry.agents is None or agent in entry.agents for entry in entries)
