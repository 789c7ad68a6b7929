"""`dpdl tune`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.options import experiment_options, given, preset_option
from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.run.experiment import Experiment
    from dpdl.run.search import Search


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE.toml]")
@click.option("--over", help="options to search over, separated by commas: lr,momentum,clip,alpha,...")
@click.option("--trials", type=int, default=16, show_default=True, help="settings that are tried")
@click.option("--search", default="random", show_default=True, help="random, grid, or halving: stop the worse early")
@click.option("--range", "ranges", multiple=True, metavar="option=low:high", help="where values are drawn from")
@click.option("--for-budget", is_flag=True, help="also choose rounds and batch, for the epsilon; searches over lr")
@click.option("--work", type=float, help="with --for-budget: most rounds x batch, in multiples of what is given [4]")
@click.option("--plan-only", is_flag=True, help="with --for-budget: show the noise of rounds and batches, and end")
@preset_option
@experiment_options()
@click.option("--out", type=click.Path(path_type=Path), default=None, help="folder [runs/tune-..., by the request]")
@click.option("--jobs", type=int, default=None, help="trials that go on at the same time [one per core]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def tune(
    file: Path | None, over: str | None, trials: int, search: str, ranges: tuple[str, ...], for_budget: bool,
    work: float | None, plan_only: bool, preset: str | None, out: Path | None, jobs: int | None, as_json: bool,
    quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Search for hyper-parameters, scored on a tenth of the training records that is held out.

    The same command continues what was interrupted. Tuning reads private records, and no epsilon accounts for it.
    """
    from dpdl.cli.compare import Board
    from dpdl.run.claim import usual_folder
    from dpdl.run.experiment import load
    from dpdl.run.schedule import WORK
    from dpdl.run.search import ask
    from dpdl.run.tune import tune as run

    e = load(file, preset, given(options))
    if not for_budget and (work is not None or plan_only):
        raise InputError(f"--{'plan-only' if plan_only else 'work'} is for --for-budget.")
    if for_budget:
        s = ask(e, "lr" if over is None else over, trials, search, ranges, WORK if work is None else work)
    else:
        s = ask(e, over or "", trials, search, ranges)
    if plan_only:
        tell_plan(s, as_json, quiet)
        return
    asked = [s.experiment.as_dict(), s.ranges, s.trials, s.search, *([] if s.work is None else [s.work])]
    with Board(quiet) as board:
        result = run(s, out or usual_folder("tune", asked), jobs=jobs, watch=board, progress=not quiet)
    if as_json:
        click.echo(json.dumps(result, allow_nan=False))
        return
    if for_budget:
        show_plan(result["plan"], s.experiment)
    show(result)


def tell_plan(s: Search, as_json: bool, quiet: bool) -> None:
    """The noise of rounds and batches, without any trial."""
    from dpdl.cli.compare import Board
    from dpdl.run.schedule import schedules

    assert s.work is not None
    with Board(quiet):
        plan = [one._asdict() for one in schedules(s.experiment, s.work, not quiet)]
    if as_json:
        click.echo(json.dumps({"plan": plan, **_budget(s.experiment)}, allow_nan=False))
    else:
        show_plan(plan, s.experiment)


def _budget(e: Experiment) -> dict[str, Any]:
    return {"epsilon": e.epsilon, "delta": e.delta, "threat": e.threat}


def show_plan(plan: Sequence[Mapping[str, Any]], e: Experiment) -> None:
    """What the budget makes of rounds and batches, cheapest first."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"Noise at epsilon {e.epsilon:g}, delta {e.delta:g}, {e.threat}")
    for name in ("rounds", "batch", "work", "sigma", "noise", "candidate"):
        table.add_column(name, justify="right")
    for row in plan:
        numbers = [f"{row[name]:.4g}" for name in ("work", "sigma", "noise")]
        table.add_row(str(row["rounds"]), str(row["batch"]), *numbers, "*" if row["candidate"] else "")
    console.print(table)
    words = "noise = sigma / (batch sqrt(rounds)); work is rounds x batch in multiples of what was asked for."
    console.print(words, highlight=False, soft_wrap=True)


def show(result: Mapping[str, Any]) -> None:
    """The best five trials, how to use the best, and the warning."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{result['algorithm']}: best of {len(result['trials'])} trials, by held-out accuracy")
    names = [name for name in result["best"] if name != "rounds"]
    for name in ("trial", *names, "rounds", "score", "epsilon"):
        table.add_column(name, justify="right")
    for row in result["trials"][:5]:
        values = [f"{row['values'][name]:.4g}" for name in names]
        score = "diverged" if row["score"] is None else f"{row['score']:.2%}"
        table.add_row(str(row["trial"]), *values, str(row["rounds"]), score, _number(row["epsilon"]))
    console.print(table)
    console.print(f"Run the best:  dpdl run {result['out']}/best.toml", highlight=False, soft_wrap=True)
    words = " ".join(f"--set {result['algorithm']}.{name}={value!r}" for name, value in result["best"].items())
    console.print(f"In dpdl compare:  {words}", highlight=False, soft_wrap=True)
    console.print(f"Warning: {result['warning']} {_sum(result)}", highlight=False, soft_wrap=True)


def _sum(result: Mapping[str, Any]) -> str:
    total = result["composed"]
    if total is None:
        return "Nothing is proven for all trials together."
    return (
        f"For a record that was trained on, all trials together are ({total['epsilon']:.4g}, {total['delta']:.2g})-"
        f"differentially private against {result['threat']}, by basic composition; for a held-out record "
        "nothing is proven."
    )


def _number(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"
