"""What an audit found, as plain values for JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dpdl.audit.certify import Certificate
from dpdl.audit.result import AuditResult, Measured
from dpdl.audit.setting import AuditSetting

NOTE = (
    "clopper_pearson is certified and assumes nothing about the mechanism; gdp is an "
    "estimate, for it assumes a Gaussian trade-off curve, and refutes nothing"
)


def facts_of(result: AuditResult, setting: AuditSetting) -> dict[str, Any]:
    """What was found, and about what."""
    e = setting.experiment
    return {
        "claimed": result.claimed,
        "proven": _bounded(result.proven),
        "certified": result.certified,
        "certified_lower_bound": {
            "clopper_pearson": result.by_counting.epsilon,
            "gdp": result.by_gdp.epsilon,
        },
        "certified_lower_bound_note": NOTE,
        "threat": str(result.threat),
        "verdict": result.verdict,
        "refutes_claim": result.refutes_claim,
        "refutes_proof": result.refutes_proof,
        "errors": {
            "clopper_pearson": _errors(result.by_counting),
            "gdp": _errors(result.by_gdp),
        },
        "sigma": result.sigma,
        "sigma_eff": {
            "proven": result.sigma_eff_proven or "unbounded",
            "attack": _bounded(result.sigma_eff_attack),
            **_measured(result.sigma_eff_measured),
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
        "alpha": e.options.get("alpha"),
        "options": dict(e.options),
        "delta": e.delta,
    }


def _measured(found: Measured | None) -> dict[str, Any]:
    if found is None:
        return {"measured": None, "interval": None}
    interval = [_bounded(found.low), _bounded(found.high)]
    return {"measured": _bounded(found.value), "interval": interval}


def _errors(certificate: Certificate) -> dict[str, float | None]:
    """Rates of a half without any record of a kind do not exist: null."""
    values = asdict(certificate)
    del values["epsilon"]
    return {
        name: value if math.isfinite(value) else None for name, value in values.items()
    }


def _bounded(value: float) -> float | str:
    return value if math.isfinite(value) else "unbounded"
