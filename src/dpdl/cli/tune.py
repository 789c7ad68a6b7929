"""`dpdl tune`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dpdl.cli.options import experiment_options, given, preset_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE.toml]")
@click.option("--over", required=True, help="options to search over, separated by commas: lr,momentum,clip,alpha,...")
@click.option("--trials", type=int, default=16, show_default=True, help="settings that are tried")
@click.option("--search", default="random", show_default=True, help="random, or halving: stop the worse ones early")
@click.option("--range", "ranges", multiple=True, metavar="option=low:high", help="where values are drawn from")
@preset_option
@experiment_options()
@click.option("--out", type=click.Path(path_type=Path), default=None, help="folder [runs/tune-..., by the request]")
@click.option("--jobs", type=int, default=None, help="trials that go on at the same time [one per core]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def tune(
    file: Path | None, over: str, trials: int, search: str, ranges: tuple[str, ...], preset: str | None,
    out: Path | None, jobs: int | None, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Search for hyper-parameters, scored on a tenth of the training records that is held out.

    The same command continues what was interrupted. Tuning reads private records, and no epsilon accounts for it.
    """
    from dpdl.cli.compare import Board
    from dpdl.run.claim import usual_folder
    from dpdl.run.experiment import load
    from dpdl.run.tune import ask
    from dpdl.run.tune import tune as run

    s = ask(load(file, preset, given(options)), over, trials, search, ranges)
    out = out or usual_folder("tune", [s.experiment.as_dict(), s.ranges, s.trials, s.search])
    with Board(quiet) as board:
        result = run(s, out, jobs=jobs, watch=board, progress=not quiet)
    if as_json:
        click.echo(json.dumps(result, allow_nan=False))
    else:
        show(result)


def show(result: Mapping[str, Any]) -> None:
    """The best five trials, how to use the best, and the warning."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{result['algorithm']}: best of {len(result['trials'])} trials, by held-out accuracy")
    for name in ("trial", *result["best"], "rounds", "score", "epsilon"):
        table.add_column(name, justify="right")
    for row in result["trials"][:5]:
        values = [f"{value:.4g}" for value in row["values"].values()]
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
