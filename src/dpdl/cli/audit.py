"""`dpdl audit`."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.options import experiment_options, given
from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.audit import AuditResult, Certificate
    from dpdl.privacy.theorem1 import Theorem1
    from dpdl.run.experiment import Experiment
    from dpdl.run.planner import Question

OPTIONS = (
    "algorithm",
    "graph",
    "agents",
    "weights",
    "batch",
    "rounds",
    "momentum",
    "alpha",
    "noise_split",
    "epsilon",
    "sigma",
    "delta",
    "threat",
    "c2",
    "h",
    "randomness",
    "seed",
)
RULES = ("accountant", "theorem1")


@click.command()
@experiment_options(only=OPTIONS)
@click.option("--noise", default="theorem1", help="rule that sets sigma for epsilon (accountant, theorem1) [theorem1]")
@click.option("--records", type=int, default=6000, show_default=True, help="records of every agent")
@click.option("--rate", type=float, default=None, help="batch as a share of the records; 1 also measures sigma_eff")
@click.option("--canaries", type=int, default=2000, show_default=True, help="records that are attacked, at once")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of the lower bounds")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def audit(
    noise: str, records: int, rate: float | None, canaries: int, confidence: float, as_json: bool, **options: Any
) -> None:
    """Attack what agents send with worst-case records; certify a lower bound on epsilon."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be strictly between 0 and 1, not {confidence!r}.")
    started = time.perf_counter()
    e, question, theorem1 = _question(records, canaries, {**given(options), **_batch(options["batch"], rate, records)})
    result = _play(e, question, theorem1, _sigma(e, noise, question, theorem1), canaries, confidence)
    facts = {
        **_facts(result),
        "algorithm": e.algorithm,
        "graph": question.graph.name,
        "agents": len(question.graph),
        "records": records,
        "batch": e.batch,
        "rounds": e.rounds,
        "alpha": e.alpha,
        "delta": e.delta,
        "canaries": canaries,
        "confidence": confidence,
        "seed": e.seed,
        "seconds": round(time.perf_counter() - started, 1),
    }
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
    else:
        _show(facts, result)
    if result.refutes_proof:
        click.get_current_context().exit(3)


def _batch(batch: int | None, rate: float | None, records: int) -> dict[str, int]:
    if rate is None:
        return {}
    if batch is not None:
        raise InputError("batch and rate exclude each other; give one of them.")
    if not 0 < rate <= 1:
        raise InputError(f"rate must be above 0 and at most 1, not {rate!r}.")
    return {"batch": max(1, round(rate * records))}


def _question(records: int, canaries: int, options: dict[str, Any]) -> tuple[Experiment, Question, Theorem1]:
    from dpdl.graph import build
    from dpdl.run.experiment import from_mapping
    from dpdl.run.planner import make_algorithm, make_question, make_theorem1

    e = from_mapping({"noise": "theorem1", **options}).resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    assert e.batch
    if records < e.batch:
        raise InputError(f"records must be at least the batch of {e.batch}, not {records}.")
    question = make_question(e, make_algorithm(e), graph, [records] * len(graph), canaries)
    theorem1 = make_theorem1(e, graph, records)
    if theorem1 is None:
        raise InputError(f"The audit has an adversary for dpdl and dpdl-sound only, not for {e.algorithm}.")
    return e, question, theorem1


def _sigma(e: Experiment, noise: str, question: Question, theorem1: Theorem1) -> float:
    from dpdl.errors import unknown
    from dpdl.privacy.threats import threat

    assert e.epsilon
    if noise not in RULES:
        raise unknown("noise", noise, RULES)
    if e.sigma is not None:
        return e.sigma
    return theorem1.sigma(e.epsilon) if noise == "theorem1" else question.sigma(e.epsilon, threat(e.threat))


def _play(
    e: Experiment, question: Question, theorem1: Theorem1, sigma: float, canaries: int, confidence: float
) -> AuditResult:
    from rich.console import Console
    from rich.progress import Progress

    from dpdl.audit import audit
    from dpdl.privacy.noise import Reproducible, Secure
    from dpdl.privacy.threats import threat

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("rounds", total=e.rounds)
        return audit(
            question,
            theorem1,
            sigma,
            threat(e.threat),
            canaries=canaries,
            confidence=confidence,
            randomness=Secure() if e.randomness == "secure" else Reproducible(e.seed),
            seed=e.seed,
            watch=lambda t: bar.update(task, completed=t),
        )


def _facts(result: AuditResult) -> dict[str, Any]:
    measured = result.sigma_eff_measured
    return {
        "claimed": result.claimed,
        "proven": _word(result.proven),
        "certified_lower_bound": {"clopper_pearson": result.by_counting.epsilon, "gdp": result.by_gdp.epsilon},
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
    }


def _errors(certificate: Certificate) -> dict[str, float | None]:
    """Rates of a half without any canary of a kind do not exist: null."""
    values = asdict(certificate)
    del values["epsilon"]
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _show(facts: dict[str, Any], result: AuditResult) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    place = f"{facts['graph']} of {facts['agents']} agents"
    table = Table(title=f"{facts['algorithm']}, {place}, against {facts['threat']}", min_width=70)
    table.add_column(f"epsilon at delta = {facts['delta']:g}, sigma = {facts['sigma']:.4g}")
    table.add_column("value", justify="right")
    table.add_row("claimed by Theorem 1", _number(facts["claimed"]))
    lower = facts["certified_lower_bound"]
    table.add_row("certified lower bound, by counting errors", _number(lower["clopper_pearson"]))
    exact = "" if result.rate >= 1 else " (if Gaussian)"
    table.add_row(f"certified lower bound, by GDP{exact}", _number(lower["gdp"]))
    table.add_row("proven upper bound, by the accountant", _number(facts["proven"]))
    console.print(table)
    effective = facts["sigma_eff"]
    words = f"sigma_eff: proven {_number(effective['proven'])}, attack {_number(effective['attack'])}"
    if effective["interval"]:
        low, high = map(_number, effective["interval"])
        words += f", measured {_number(effective['measured'])} (between {low} and {high})"
    console.print(words, highlight=False)
    console.print(
        f"{facts['canaries']} canaries, confidence {facts['confidence']:.0%}, {facts['seconds']:.0f} s", highlight=False
    )
    console.print(result.verdict, highlight=False, soft_wrap=True)


def _word(value: float) -> float | str:
    return value if math.isfinite(value) else "unbounded"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
