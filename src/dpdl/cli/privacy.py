"""`dpdl privacy sigma` and `dpdl privacy epsilon`; `verify` and `statement` have files of their own."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.options import experiment_options, given
from dpdl.cli.statement import statement
from dpdl.cli.verify import verify
from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.privacy.theorem1 import Theorem1
    from dpdl.privacy.threats import Threat
    from dpdl.run.planner import Question

OPTIONS = (
    "algorithm",
    "graph",
    "agents",
    "weights",
    "seed",
    "batch",
    "rounds",
    "delta",
    "alpha",
    "correlation",
    "relation",
    "sampling",
    "clip_unit",
    "threat",
    "c2",
    "h",
    "noise_split",
)
PARAMETERS = 44_426


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that privacy depends on."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output"),
        click.option("--plot", type=click.Path(path_type=Path), default=None, help="picture of epsilon over rounds"),
        click.option("--parameters", type=int, default=PARAMETERS, show_default=True, help="model size d"),
        click.option("--c1", type=float, default=1.0, show_default=True, help="constant c_1 of Theorem 1"),
        click.option(
            "--records", default="6000", show_default=True, help="records declared per agent, or one number for each"
        ),
        experiment_options(only=OPTIONS),
    ):
        command = decorate(command)
    return command


@click.group()
def privacy() -> None:
    """Plan noise and budgets before a run, and verify them after it."""


privacy.add_command(statement)


@privacy.command()
@click.option("--epsilon", type=float, required=True, help="target epsilon")
@plan_options
def sigma(epsilon: float, c1: float, as_json: bool, plot: Path | None, **options: Any) -> None:
    """The noise multiplier that a target epsilon needs, for every threat model, beside Theorem 1's."""
    if not math.isfinite(epsilon) or epsilon <= 0:
        raise InputError(f"epsilon must be a finite number above 0, not {epsilon!r}.")
    question, theorem1, listeners = _question(**options)
    needed = {t: question.sigma(epsilon, t) for t in listeners}
    claims = [theorem1.sigma(epsilon), theorem1.appendix_sigma(epsilon)] if theorem1 else []
    values = {**_claims(claims), **{t.key: value for t, value in needed.items()}}
    effective = {t.key: _effective(question, value, t) for t, value in needed.items()}
    _tell(
        {"sigma": _words(values), "sigma_eff": _words(effective), "notes": notes(question, theorem1, epsilon, c1)},
        f"Noise multiplier sigma for epsilon = {epsilon:g}, delta = {question.delta:g}",
        as_json,
    )
    asked = listeners[-1]
    if plot and math.isfinite(needed[asked]):
        _draw(question, theorem1, needed[asked], listeners, plot, as_json)


@privacy.command()
@click.option("--sigma", type=float, required=True, help="noise multiplier")
@plan_options
def epsilon(sigma: float, c1: float, as_json: bool, plot: Path | None, **options: Any) -> None:
    """The epsilon that a noise multiplier proves, for every threat model, beside Theorem 1's claim."""
    if not math.isfinite(sigma) or sigma <= 0:
        raise InputError(f"sigma must be a finite number above 0, not {sigma!r}.")
    question, theorem1, listeners = _question(**options)
    claims = [theorem1.epsilon(sigma), theorem1.appendix_sigma(1.0) / sigma] if theorem1 else []
    values = {**_claims(claims), **{t.key: question.worst(sigma, t) for t in listeners}}
    agents = {t.key: [_word(question.epsilon(i, sigma, t)) for i in range(len(question.graph))] for t in listeners}
    _tell(
        {
            "epsilon": _words(values),
            "per_agent": agents,
            "notes": notes(question, theorem1, next(iter(claims), math.nan), c1),
        },
        f"Epsilon for noise multiplier sigma = {sigma:g}, delta = {question.delta:g}",
        as_json,
    )
    if plot:
        _draw(question, theorem1, sigma, listeners, plot, as_json)


privacy.add_command(verify)


def notes(question: Question, theorem1: Theorem1 | None, target: float, c1: float) -> list[str]:
    """What a person must know to read the numbers."""
    from dpdl.algorithms.algorithm1 import Algorithm1
    from dpdl.privacy.relations import CHANGES
    from dpdl.privacy.threats import EAVESDROPPER

    rate = min(1.0, question.batch / min(question.records))
    found = [
        f"One record is {CHANGES[question.relation]} in one agent's data; it takes part in a round with "
        f"probability up to {rate:.4g}. The numbers of records are declared constants."
    ]
    if not question.bounded:
        found.append("Only clip_unit 'sample' bounds what a record can do: no guarantee otherwise.")
    if question.fixed:
        found.append("Fixed-size batches are accounted for by Rényi DP, which is loose.")
    disclosure = question.algorithm.disclosure
    if isinstance(disclosure, Algorithm1):
        lowest = replace(disclosure, kappa=0.5).exposure(question.graph, 0, EAVESDROPPER)
        found.append(
            "Algorithm 1 sends an un-noised self-gradient inside the momentum; the bound counts that it contracts its "
            "own mask. To leading order in 1/sqrt(d), an eavesdropper gets at least sigma_eff = sigma / "
            f"{math.sqrt(lowest):.3g} (agent 0)."
        )
    return [*found, *(theorem1.complaints(target, c1) if theorem1 else ["Theorem 1 is not about this algorithm."])]


def _claims(values: list[float]) -> dict[str, float | None]:
    """Theorem 1 and the last formula of its appendix; None when it is not about the algorithm."""
    return dict(zip(("theorem1", "theorem1_appendix"), values or (None, None), strict=True))


def _question(records: str, parameters: int, **options: Any) -> tuple[Question, Theorem1 | None, list[Threat]]:
    """All checks come before any data is touched."""
    from dpdl.graph import build
    from dpdl.privacy.declared import parse
    from dpdl.privacy.threats import USUAL, threat
    from dpdl.run.experiment import from_mapping
    from dpdl.run.planner import make_algorithm, make_question, make_theorem1

    if parameters < 1:
        raise InputError(f"parameters must be a whole number of at least 1, not {parameters}.")
    e = from_mapping({"sigma": 1.0, **given(options)}).resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    sizes = parse(records, len(graph))
    assert e.batch
    if e.batch > min(sizes):
        raise InputError(f"batch must be at most the {min(sizes)} records of the smallest agent, not {e.batch}.")
    listeners = list(dict.fromkeys([*USUAL, threat(e.threat)]))
    listeners.append(listeners.pop(listeners.index(threat(e.threat))))
    question = make_question(e, make_algorithm(e), graph, sizes, parameters)
    return question, make_theorem1(e, graph, min(sizes)), listeners


def _effective(question: Question, sigma: float, listener: Threat) -> float:
    """The smallest sigma_eff of all agents."""
    if not math.isfinite(sigma):
        return math.inf
    return min(question.step(i, sigma, listener).sigma for i in range(len(question.graph)))


def _draw(
    question: Question, theorem1: Theorem1 | None, sigma: float, listeners: list[Threat], path: Path, as_json: bool
) -> None:
    from dpdl.report.privacy import draw_epsilon

    rounds = sorted({max(1, question.rounds * k // 24) for k in range(1, 25)})
    curves = {str(t): [question.worst(sigma, t, r) for r in rounds] for t in listeners}
    curves = {name: values for name, values in curves.items() if all(map(math.isfinite, values))}
    claimed = [theorem1.epsilon(sigma) * math.sqrt(r / question.rounds) for r in rounds] if theorem1 else []
    draw_epsilon(rounds, curves, claimed, path, f"sigma = {sigma:.4g}, delta = {question.delta:g}")
    click.echo(f"picture: {path}", err=as_json)


def _tell(facts: dict[str, Any], title: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, min_width=60)
    table.add_column("against")
    table.add_column("value", justify="right")
    for name, value in next(iter(facts.values())).items():
        table.add_row(MEANINGS.get(name, name), _show(value))
    Console().print(table)
    for note in facts["notes"]:
        click.echo(f"- {note}")


MEANINGS = {
    "theorem1": "Theorem 1 of the paper (a claim, not a guarantee)",
    "theorem1_appendix": "the same by the last formula of its appendix",
    "eavesdropper": "an eavesdropper on all links",
    "neighbour": "one curious neighbour",
    "final_model": "somebody who sees models only",
}


def _word(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else "unbounded"


def _words(values: Mapping[str, float | None]) -> dict[str, float | str | None]:
    return {name: _word(value) for name, value in values.items()}


def _show(value: float | str | None) -> str:
    if not isinstance(value, float):
        return str(value or "-")
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
