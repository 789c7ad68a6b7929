"""What `dpdl audit` shows: a table and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdl.audit.facts import AuditFacts, EffectiveNoise, SigmaEff
    from dpdl.cli.tables import FittingTable
    from dpdl.privacy.epsilon import Epsilon


def show(facts: AuditFacts) -> None:
    """The table, what was measured, how, and the verdict."""
    from dpdl.terminal import Console

    console = Console()
    _table(facts).show(console)
    console.print(_effective_noise(facts.sigma_eff), highlight=False)
    console.print(_game(facts), highlight=False)
    console.print(facts.verdict, highlight=False, soft_wrap=True)


def _table(facts: AuditFacts) -> FittingTable:
    from dpdl.cli.tables import FittingTable

    place = f"{facts.graph} of {facts.agents} agents"
    title = f"{facts.algorithm}, {place}, against {facts.threat}"
    about = f"epsilon at delta = {facts.delta:g}, sigma = {facts.sigma:.4g}"
    table = FittingTable(title, [about, "value"], least_width=70)
    if facts.claimed.known:
        table.add("claimed by Theorem 1", f"{facts.claimed:.4g}")
    lower = facts.certified_lower_bound
    counted, estimate = f"{lower.clopper_pearson:.4g}", f"{lower.gdp:.4g}"
    table.add("certified lower bound, by counting errors", counted)
    table.add("estimate, if the trade-off is Gaussian", estimate)
    for what, proven in _proofs(facts).items():
        table.add(what, f"{proven:.4g}")
    return table


def _proofs(facts: AuditFacts) -> dict[str, Epsilon]:
    """One, or two: a proof may depend on the size of the model, and the game has its own."""
    own = facts.proven_of_run
    if own is None or f"{own:.4g}" == f"{facts.proven:.4g}":
        return {"proven upper bound, by the accountant": facts.proven}
    size = f"this game's model of {facts.parameters} parameters"
    return {f"proven for {size}": facts.proven, "proven for the run's model": own}


def _effective_noise(found: EffectiveNoise) -> str:
    text = f"sigma_eff: proven {_number(found.proven)}, attack {_number(found.attack)}"
    if found.interval is None or found.measured is None:
        return text
    low, high = map(_number, found.interval)
    return f"{text}, measured {_number(found.measured)} (between {low} and {high})"


def _game(facts: AuditFacts) -> str:
    played = f"{facts.canaries} canaries"
    if facts.trials:
        played = f"{facts.trials} trials with the record and without it"
    how = f"{facts.rounds} rounds, confidence {facts.confidence:.0%}"
    return f"{played}, {how}, {facts.seconds:.0f} s"


def _number(value: SigmaEff) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
