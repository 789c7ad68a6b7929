"""What `dpdl audit` tells: one JSON object, or a table and a sentence."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdl.audit import AuditResult, Certificate
    from dpdl.audit.setting import Setting

NOTE = (
    "clopper_pearson is certified and assumes nothing about the mechanism; gdp is an estimate, for it assumes a "
    "Gaussian trade-off curve, and refutes nothing"
)


def facts_of(result: AuditResult, setting: Setting) -> dict[str, Any]:
    """What was found, and about what, as plain values."""
    e, measured = setting.experiment, result.sigma_eff_measured
    return {
        "claimed": result.claimed,
        "proven": _word(result.proven),
        "certified": result.certified,
        "certified_lower_bound": {"clopper_pearson": result.by_counting.epsilon, "gdp": result.by_gdp.epsilon},
        "certified_lower_bound_note": NOTE,
        "threat": str(result.threat),
        "verdict": result.verdict,
        "refutes_claim": result.refutes_claim,
        "refutes_proof": result.refutes_proof,
        "errors": {"clopper_pearson": _errors(result.by_counting), "gdp": _errors(result.by_gdp)},
        "sigma": result.sigma,
        "sigma_eff": {
            "proven": result.sigma_eff_proven or "unbounded",
            "attack": _word(result.sigma_eff_attack),
            "measured": _word(measured.value) if measured else None,
            "interval": [_word(measured.low), _word(measured.high)] if measured else None,
        },
        "rate": result.rate,
        "agent": result.agent,
        "algorithm": e.algorithm,
        "compress": e.compress,
        "graph": setting.graph.name,
        "agents": len(setting.graph),
        "records": setting.records[result.agent],
        "batch": e.batch,
        "rounds": e.rounds,
        "alpha": e.alpha,
        "delta": e.delta,
    }


def _errors(certificate: Certificate) -> dict[str, float | None]:
    """Rates of a half without any record of a kind do not exist: null."""
    values = asdict(certificate)
    del values["epsilon"]
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def show(facts: dict[str, Any], result: AuditResult) -> None:
    """The table, what was measured, and the verdict."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    place = f"{facts['graph']} of {facts['agents']} agents"
    table = Table(title=f"{facts['algorithm']}, {place}, against {facts['threat']}", min_width=70)
    table.add_column(f"epsilon at delta = {facts['delta']:g}, sigma = {facts['sigma']:.4g}")
    table.add_column("value", justify="right")
    if facts["claimed"] is not None:
        table.add_row("claimed by Theorem 1", _number(facts["claimed"]))
    lower = facts["certified_lower_bound"]
    table.add_row("certified lower bound, by counting errors", _number(lower["clopper_pearson"]))
    table.add_row("estimate, if the trade-off is Gaussian", _number(lower["gdp"]))
    table.add_row("proven upper bound, by the accountant", _number(facts["proven"]))
    console.print(table)
    effective = facts["sigma_eff"]
    words = f"sigma_eff: proven {_number(effective['proven'])}, attack {_number(effective['attack'])}"
    if effective["interval"]:
        low, high = map(_number, effective["interval"])
        words += f", measured {_number(effective['measured'])} (between {low} and {high})"
    console.print(words, highlight=False)
    alone = f"{facts['trials']} trials with the record and without it"
    words = alone if facts["trials"] else f"{facts['canaries']} canaries"
    words += f", {facts['rounds']} rounds, confidence {facts['confidence']:.0%}, {facts['seconds']:.0f} s"
    console.print(words, highlight=False)
    console.print(result.verdict, highlight=False, soft_wrap=True)


def _word(value: float) -> float | str:
    return value if math.isfinite(value) else "unbounded"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
