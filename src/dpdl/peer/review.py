"""One page for a data protection officer: what a run gives away, to whom, and what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.algorithms import named
from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.consent import charge_of, epsilon_of, own_member
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest, differing
from dpdl.peer.outgoing import Outgoing, outgoing
from dpdl.peer.plan import first_view, public_plan
from dpdl.peer.run_folder import PeerRun
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.statement import listening
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.threats import threat
from dpdl.records import Record, absent


@final
@dataclass(frozen=True)
class SentChannel(Record):
    """What is sent on one channel."""

    channel: str
    carries: str
    multiplier: float | None  # of noise of its own; None: it has none
    bytes_a_round: float  # to all neighbours together


@final
@dataclass(frozen=True, kw_only=True)
class Review(Record):
    """What a person should know who decides whether a site takes part."""

    run: str
    site: str
    members: tuple[str, ...]
    neighbours: tuple[str, ...]
    algorithm: str
    rounds: int
    parameters: int
    data: str
    declared: int
    channels: tuple[SentChannel, ...]
    bytes_a_round: float
    epsilon: Mapping[str, float | None]  # by threat; None: nothing is proven
    agreed: str  # the threat that the manifest is about
    delta: float
    relation: str
    budget: float
    spent: float
    reserved: float
    after: float  # the epsilon of all, with this run
    approved: bool
    changed: tuple[str, ...] | None = absent()  # since the run before

    def lines(self) -> list[str]:
        """The page, in plain words."""
        return [*self._what(), "", *self._leaves(), "", *self._costs(), *self._news()]

    def _what(self) -> list[str]:
        others = [name for name in self.members if name != self.site]
        return [
            f"{self.site}: a proposal to train one model together",
            f"run {self.run}",
            "",
            f"Who      {', '.join(others)} and this site; no server.",
            f"What     {self.algorithm}, {self.rounds} rounds, a model of {self.parameters:,} "
            "numbers.",
            f"Records  data set {self.data!r}; {self.declared} records are declared, and that "
            "number is public.",
        ]

    def _leaves(self) -> list[str]:
        size = f"{self.bytes_a_round / 1e6:.3g} MB a round"
        lines = [f"What leaves this site: {size}, to {', '.join(self.neighbours)}."]
        for one in self.channels:
            noise = (
                "no noise of its own"
                if one.multiplier is None
                else f"noise x {one.multiplier:.3g}"
            )
            lines.append(f"  {one.channel}: {one.carries} ({noise})")
        return [
            *lines,
            "Nothing else leaves: no record, no label, no loss, no accuracy, no count.",
        ]

    def _costs(self) -> list[str]:
        lines = ["What one record gives away at most, if all rounds are run:"]
        anywhere = named(self.algorithm).kind.coalitions_anywhere
        for name, value in self.epsilon.items():
            spent = "nothing is proven" if value is None else f"epsilon {value:.4g}"
            mark = "  <- agreed on" if name == self.agreed else ""
            who = listening(threat(name), anywhere)
            lines.append(f"  {spent:20} against {who}{mark}")
        return [
            *lines,
            f"  with delta {self.delta:g}, for one record {CHANGES[self.relation]}.",
            "",
            f"Budget of {self.data!r}: epsilon {self.budget:g}. Spent {self.spent:.4g}, reserved "
            f"{self.reserved:.4g}; with this run {self.after:.4g}.",
            "An approval reserves this; the run takes no more. What it does not use comes back.",
        ]

    def _news(self) -> list[str]:
        if self.changed is None:
            return []
        if not self.changed:
            return ["", "Nothing differs from the run before."]
        return ["", f"Changed since the run before: {', '.join(self.changed)}."]


def review(home: Home, run: PeerRun, before: Manifest | None = None) -> Review:
    """What a proposal means for this site; `before` is the manifest of its last run."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    view = first_view(manifest)
    plan = public_plan(manifest, view, run.initial())
    number = view.rank(home.name)
    sent = outgoing(plan, number)
    epsilon_of(home, run)  # refuses a manifest that says too little
    charge = charge_of(home, run, manifest)
    with DataLedger.open(home.ledger_path(member.data)) as ledger:
        spending = ledger.epsilon()
        known = manifest.hash in ledger.runs()
        total = spending.reserved if known else ledger.epsilon_with([charge])
    return Review(
        run=manifest.hash,
        site=home.name,
        members=manifest.names,
        neighbours=view.neighbours(home.name),
        algorithm=plan.experiment.algorithm,
        rounds=plan.experiment.rounds,
        parameters=plan.task.size,
        data=member.data,
        declared=member.records,
        channels=_channels(plan, sent),
        bytes_a_round=sum(one.bytes for one in sent) / plan.algorithm.period,
        epsilon=_epsilons(plan, manifest, number),
        agreed=manifest.privacy.threat,
        delta=manifest.privacy.delta,
        relation=manifest.privacy.relation,
        budget=spending.budget,
        spent=spending.spent,
        reserved=spending.reserved,
        after=total,
        approved=run.approval_file(home.name).exists(),
        changed=None if before is None else tuple(differing(before, manifest)),
    )


def _channels(plan: PublicPlan, sent: list[Outgoing]) -> tuple[SentChannel, ...]:
    period = plan.algorithm.period
    return tuple(
        SentChannel(
            one.channel,
            one.carries,
            one.noise_multiplier if one.private else None,
            sum(out.bytes for out in sent if out.channel == one.channel) / period,
        )
        for one in plan.releases
    )


def _epsilons(
    plan: PublicPlan, manifest: Manifest, number: int
) -> dict[str, float | None]:
    listeners = plan.privacy.listeners(threat(manifest.privacy.threat))
    found = {str(one): plan.privacy.epsilon(number, one) for one in listeners}
    return {
        name: value if math.isfinite(value) else None for name, value in found.items()
    }
