"""`dpdl tune`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.board import Board
from dpdl.cli.common import (
    jobs_option,
    json_option,
    out_option,
    print_json,
    quiet_option,
    toml_argument,
)
from dpdl.cli.completion import among
from dpdl.cli.options import (
    ExperimentCommand,
    experiment_options,
    given,
    preset_option,
)
from dpdl.errors import InputError
from dpdl.folder import names

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment
    from dpdl.options import Value
    from dpdl.studies.schedule import Schedule
    from dpdl.studies.search_records import SearchResult


@click.command(cls=ExperimentCommand)
@toml_argument
@click.option(
    "--over",
    help="options to search over, separated by commas: lr,momentum,clip,alpha,...",
)
@click.option(
    "--trials", type=int, default=16, show_default=True, help="settings that are tried"
)
@click.option(
    "--search",
    default="random",
    shell_complete=among(("grid", "halving", "random")),
    show_default=True,
    help="random, grid, or halving: stop the worse early",
)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="option=low:high",
    help="where values are drawn from",
)
@click.option(
    "--for-budget",
    is_flag=True,
    help="also choose rounds and batch, for the epsilon; searches over lr",
)
@click.option(
    "--work",
    type=float,
    help="with --for-budget: most rounds x batch, in multiples of what is given [4]",
)
@click.option(
    "--plan-only",
    is_flag=True,
    help="with --for-budget: show the noise of rounds and batches, and end",
)
@preset_option
@experiment_options()
@out_option("folder [runs/tune-..., by the request]")
@jobs_option("trials that go on")
@json_option()
@quiet_option
def tune(
    file: Path | None,
    over: str | None,
    trials: int,
    search: str,
    ranges: tuple[str, ...],
    for_budget: bool,
    work: float | None,
    plan_only: bool,
    preset: str | None,
    out: Path | None,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Search for hyper-parameters, scored on a held-out tenth of the training records.

    The same command continues what was interrupted. Tuning reads private records, and no epsilon
    accounts for it.
    """
    from dpdl.experiment.experiment import load
    from dpdl.planning.early import check_names
    from dpdl.studies import tuning
    from dpdl.studies.folders import search_folder
    from dpdl.studies.schedule import WORK
    from dpdl.studies.search import make_search

    e = load(file, preset, given(options))
    if not for_budget and (work is not None or plan_only):
        needless = "plan-only" if plan_only else "work"
        raise InputError(f"--{needless} is for --for-budget.")
    if for_budget:
        over = "lr" if over is None else over
        work = WORK if work is None else work
    s = make_search(e, over or "", trials, search, ranges, work)
    check_names(e)
    if plan_only and work is not None:
        _plan(e, work, as_json, quiet)
        return
    out = out or search_folder(s)
    with Board(quiet) as board:
        result = tuning.tune(s, out, jobs=jobs, watch=board, progress=not quiet)
    if as_json:
        print_json(result.to_json())
        return
    if result.plan is not None:
        show_plan(result.plan, e)
    show(result)


def _plan(e: Experiment, work: float, as_json: bool, quiet: bool) -> None:
    """Print the noise of rounds and batches, without any trial."""
    from dpdl.studies.schedule import budget_plan, schedules

    with Board(quiet):
        plan = schedules(e, work, not quiet)
    if as_json:
        print_json(budget_plan(e, plan).to_json())
    else:
        show_plan(plan, e)


def show_plan(plan: Sequence[Schedule], e: Experiment) -> None:
    """Rounds and batches with the noise that the budget needs, cheapest first."""
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    console = Console()
    title = f"Noise at epsilon {e.epsilon:g}, delta {e.delta:g}, {e.threat}"
    head = ["rounds", "batch", "work", "sigma", "noise", "candidate"]
    table = FittingTable(title, head)
    for one in plan:
        table.add(
            str(one.rounds),
            str(one.batch),
            f"{one.work:.4g}",
            f"{one.sigma:.4g}",
            f"{one.total_noise:.4g}",
            "*" if one.candidate else "",
        )
    table.show(console)
    console.print(
        "noise = sigma / (batch sqrt(rounds)); work is rounds x batch in multiples of "
        "what was asked for.",
        highlight=False,
        soft_wrap=True,
    )


def show(result: SearchResult) -> None:
    """The best five trials, how to use the best, and the warning."""
    from dpdl.cli.tables import FittingTable
    from dpdl.folder.scored import label_of, show_score
    from dpdl.terminal import Console

    console = Console()
    count = f"best of {len(result.trials)} trials"
    score = result.score_name or "accuracy"
    title = f"{result.algorithm}: {count}, by held-out {label_of(score)}"
    options = [name for name in result.best if name != "rounds"]
    table = FittingTable(title, ["trial", *options, "rounds", "score", "epsilon"])
    for one in result.trials[:5]:
        table.add(
            str(one.trial),
            *(_value(one.values[name]) for name in options),
            str(one.rounds),
            "diverged" if one.score is None else show_score(score, one.score),
            f"{one.epsilon:.4g}" if one.epsilon.known else "-",
        )
    table.show(console)
    for line in _hints(result):
        console.print(line, highlight=False, soft_wrap=True)


def _hints(result: SearchResult) -> Iterator[str]:
    """How to use the best trial, and what tuning gives away."""
    yield f"Run the best:  dpdl run {result.out}/{names.BEST}"
    sets = [
        f"--set {result.algorithm}.{name}={value!r}"
        for name, value in result.best.items()
        if value is not None
    ]
    yield f"In dpdl compare:  {' '.join(sets)}"
    yield f"Warning: {result.warning} {_together(result)}"


def _together(result: SearchResult) -> str:
    """What is proven for all trials."""
    total = result.composed
    if total is None:
        return "Nothing is proven for all trials together."
    return (
        "For a record that was trained on, all trials together are "
        f"({total.epsilon:.4g}, {total.delta:.2g})-differentially private against "
        f"{result.threat}, by basic composition; for a held-out record nothing is "
        "proven."
    )


def _value(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)
