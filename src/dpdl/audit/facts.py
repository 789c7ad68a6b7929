"""What an audit found: `audit.json`, which `dpdl audit --json` prints too.

Bounds on epsilon are in `certified_lower_bound`, the errors they were computed from in `errors`.
sigma_eff, the noise that hides a record in what is heard of a round, is a number or `unbounded`:
nothing is proven of it, or the attack found no trace of the record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from dpdl.audit.certify import Certificate
from dpdl.audit.result import AuditResult, Measured
from dpdl.audit.setting import AuditSetting, GameRules
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Json, Record, absent, written

NOTE = (
    "clopper_pearson is certified and assumes nothing about the mechanism; gdp is an "
    "estimate, for it assumes a Gaussian trade-off curve, and refutes nothing"
)
UNBOUNDED: Literal["unbounded"] = "unbounded"
SigmaEff = float | Literal["unbounded"]


@final
@dataclass(frozen=True)
class LowerBounds(Record):
    """An epsilon by counting errors, which is certified, and one by GDP, which is an estimate."""

    clopper_pearson: float
    gdp: float


@final
@dataclass(frozen=True)
class MeasuredErrors(Record):
    """The errors of one test; a rate is None where there was no record to measure it on."""

    threshold: float | None
    false_positives: float | None
    false_negatives: float | None
    false_positives_at_most: float | None
    false_negatives_at_most: float | None

    @classmethod
    def of(cls, found: Certificate) -> MeasuredErrors:
        """Those that an epsilon was computed from."""
        return cls(
            _finite(found.threshold),
            _finite(found.false_positives),
            _finite(found.false_negatives),
            _finite(found.false_positives_at_most),
            _finite(found.false_negatives_at_most),
        )


@final
@dataclass(frozen=True)
class ErrorsByBound(Record):
    """The errors behind each of the lower bounds."""

    clopper_pearson: MeasuredErrors
    gdp: MeasuredErrors


@final
@dataclass(frozen=True)
class EffectiveNoise(Record):
    """sigma_eff: by the proof, by the attack's rehearsals, and as measured in the game."""

    proven: SigmaEff
    attack: SigmaEff
    measured: SigmaEff | None  # None under sampling: the coins are private
    interval: tuple[SigmaEff, SigmaEff] | None

    @classmethod
    def of(cls, result: AuditResult) -> EffectiveNoise:
        """What an audit says about it."""
        proven = result.sigma_eff_proven or UNBOUNDED
        attack = _bounded(result.sigma_eff_attack)
        found = result.sigma_eff_measured
        if found is None:
            return cls(proven, attack, None, None)
        return cls(proven, attack, _bounded(found.value), _interval(found))


@final
@dataclass(frozen=True, kw_only=True)
class AuditFacts(Record):
    """What was certified of which algorithm, and how."""

    claimed: Epsilon  # by Theorem 1; unknown if it is not about the algorithm
    proven: Epsilon  # of the game, whose models have `parameters`
    # Of the run, whose models have another size.
    proven_of_run: Epsilon | None = absent()  # noqa: RUF009 - it makes a field
    certified: float
    certified_lower_bound: LowerBounds
    certified_lower_bound_note: str
    threat: str
    verdict: str
    refutes_claim: bool
    refutes_proof: bool
    errors: ErrorsByBound
    sigma: float
    sigma_eff: EffectiveNoise
    rate: float
    agent: int
    algorithm: str
    compress: str
    graph: str
    agents: int
    records: int
    batch: int | None
    rounds: int
    alpha: Json
    options: Mapping[str, Json]
    delta: float
    parameters: int
    trials: int | None
    crowd: str | None
    confidence: float
    seed: int
    canaries: int
    run: str | None  # None: the settings were given as options
    seconds: float


def facts_of(
    result: AuditResult,
    setting: AuditSetting,
    rules: GameRules,
    run: str | None,
    seconds: float,
) -> AuditFacts:
    """What was found, about what, and how."""
    e = setting.experiment
    options = {name: written(value) for name, value in e.options.items()}
    return AuditFacts(
        claimed=result.claimed,
        proven=result.proven,
        proven_of_run=result.of_run.epsilon if result.of_run else None,
        certified=result.certified,
        certified_lower_bound=LowerBounds(
            result.by_counting.epsilon, result.by_gdp.epsilon
        ),
        certified_lower_bound_note=NOTE,
        threat=str(result.threat),
        verdict=result.verdict,
        refutes_claim=result.refutes_claim,
        refutes_proof=result.refutes_proof,
        errors=ErrorsByBound(
            MeasuredErrors.of(result.by_counting), MeasuredErrors.of(result.by_gdp)
        ),
        sigma=result.sigma,
        sigma_eff=EffectiveNoise.of(result),
        rate=result.rate,
        agent=result.agent,
        algorithm=e.algorithm,
        compress=e.compress,
        graph=setting.graph.name,
        agents=len(setting.graph),
        records=setting.records[result.agent],
        batch=e.batch,
        rounds=e.rounds,
        alpha=options.get("alpha"),
        options=options,
        delta=e.delta,
        parameters=rules.parameters,
        trials=rules.trials,
        crowd=rules.crowd,
        confidence=rules.confidence,
        seed=rules.seed,
        canaries=rules.canaries,
        run=run,
        seconds=seconds,
    )


def _interval(found: Measured) -> tuple[SigmaEff, SigmaEff]:
    return _bounded(found.low), _bounded(found.high)


def _bounded(value: float) -> SigmaEff:
    return value if math.isfinite(value) else UNBOUNDED


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
