"""`dpdl privacy sigma` and `dpdl privacy epsilon`; `verify` and `statement` have own files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.bounds import real
from dpdl.cli.common import json_option, path_option, print_json
from dpdl.cli.options import ExperimentCommand, experiment_options, given
from dpdl.cli.statement import statement
from dpdl.cli.verify import verify
from dpdl.extras import PLOTS, need
from dpdl.records import Json, written

if TYPE_CHECKING:
    from dpdl.studies.noise_plan import EpsilonTable, SigmaTable

OPTIONS = (
    "algorithm",
    "graph",
    "agents",
    "weights",
    "seed",
    "batch",
    "rate",
    "centre",
    "centre_noise",
    "rounds",
    "delta",
    "relation",
    "sampling",
    "clip_unit",
    "threat",
    "c2",
    "h",
)
PARAMETERS = 44_426


MEANINGS = {
    "theorem1": "Theorem 1 of the paper (a claim, not a guarantee)",
    "theorem1_appendix": "the same by the last formula of its appendix",
    "eavesdropper": "an eavesdropper on all links",
    "neighbour": "one curious neighbour",
    "final_model": "somebody who sees models only",
}


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The shared options that privacy depends on."""
    for decorate in (
        json_option(),
        path_option("--plot", "picture of epsilon over rounds"),
        click.option(
            "--parameters",
            type=int,
            default=PARAMETERS,
            show_default=True,
            help="model size d",
        ),
        click.option(
            "--c1",
            type=float,
            default=1.0,
            show_default=True,
            help="constant c_1 of Theorem 1",
        ),
        click.option(
            "--records",
            default="6000",
            show_default=True,
            help="records declared per agent, or one number for each",
        ),
        experiment_options(only=OPTIONS),
    ):
        command = decorate(command)
    return command


@click.group()
def privacy() -> None:
    """Plan noise and budgets before a run, and verify them after it."""


privacy.add_command(statement)


@privacy.command(cls=ExperimentCommand)
@click.option("--epsilon", type=float, required=True, help="target epsilon")
@plan_options
def sigma(
    epsilon: float,
    records: str,
    parameters: int,
    c1: float,
    as_json: bool,
    plot: Path | None,
    **options: Any,
) -> None:
    """The noise multiplier that an epsilon needs, for every threat model, beside Theorem 1's."""
    real("epsilon", epsilon)
    if plot:
        need(PLOTS, f"The picture {str(plot)!r}")
    from dpdl.studies.noise_plan import noise_plan

    plan = noise_plan(given(options), records, parameters, c1)
    title = f"Noise multiplier sigma for epsilon = {epsilon:g}"
    table = plan.sigmas(epsilon)
    _print(table, table.sigma, f"{title}, delta = {plan.model.delta:g}", as_json)
    if plot and math.isfinite(needed := plan.needed_sigma(epsilon)):
        click.echo(f"picture: {plan.draw(needed, plot)}", err=as_json)


@privacy.command(cls=ExperimentCommand)
@click.option("--sigma", type=float, required=True, help="noise multiplier")
@plan_options
def epsilon(
    sigma: float,
    records: str,
    parameters: int,
    c1: float,
    as_json: bool,
    plot: Path | None,
    **options: Any,
) -> None:
    """The epsilon that a noise multiplier proves, for every threat model, and Theorem 1's."""
    real("sigma", sigma)
    if plot:
        need(PLOTS, f"The picture {str(plot)!r}")
    from dpdl.studies.noise_plan import noise_plan

    plan = noise_plan(given(options), records, parameters, c1)
    title = f"Epsilon for noise multiplier sigma = {sigma:g}"
    table = plan.epsilons(sigma)
    _print(table, table.epsilon, f"{title}, delta = {plan.model.delta:g}", as_json)
    if plot:
        click.echo(f"picture: {plan.draw(sigma, plot)}", err=as_json)


privacy.add_command(verify)


def _print(
    found: SigmaTable | EpsilonTable,
    values: Mapping[str, object],
    title: str,
    as_json: bool,
) -> None:
    """The whole table for programs, or its values against every listener for people."""
    if as_json:
        print_json(found)
        return
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    table = FittingTable(title, ["against", "value"], least_width=60)
    for name, value in values.items():
        table.add(MEANINGS.get(name, name), _text(written(value)))
    table.show(Console())
    for note in found.notes:
        click.echo(f"- {note}")


def _text(value: Json) -> str:
    if not isinstance(value, float):
        return str(value or "-")
    return f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
