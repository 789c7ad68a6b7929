"""`dpdl reproduce`: the paper's tables, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpdl.errors import InputError, RunFailed, unknown
from dpdl.run.interrupt import Interrupted

STATUS = "status"


@click.command()
@click.argument("table", required=False, metavar="[TABLE|status]")
@click.option("--cells", default="", help="such as graph=ring/complete,agents=10,epsilon=0.5 [all]")
@click.option(
    "--mode", "modes", default="as-published", show_default=True, help="as-published, algorithm1, sound, or all"
)
@click.option("--seeds", type=int, default=1, show_default=True, help="runs of every cell: seed 0, 1, ...")
@click.option("--minutes", type=float, default=None, help="do the most telling cells that fit into this time")
@click.option("--jobs", type=int, default=None, help="runs that go on at the same time [one per core]")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="results")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs/reproduce"), show_default=True, help="runs")
@click.option("--dry-run", is_flag=True, help="only say what would be run, and how long it should take")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def reproduce(
    table: str | None,
    cells: str,
    modes: str,
    seeds: int,
    minutes: float | None,
    jobs: int | None,
    out: Path,
    runs: Path,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run cells of the paper's tables, and show them beside the paper's numbers.

    What was measured is not measured again; what was interrupted is continued. TABLE is acc-mnist, acc-mnist-2 (ring),
    acc-cifar or acc-cifar-2, or all of them; `status` shows what there is.
    """
    from dpdl.paper.cells import select
    from dpdl.reproduce import queue, recipes, results
    from dpdl.run.many import at_once

    if table == STATUS:
        _show(results.status(out), as_json)
        return
    chosen = list(recipes.MODES) if modes == "all" else modes.split(",")
    for mode in chosen:
        if mode not in recipes.MODES:
            raise unknown("mode", mode, recipes.MODES, "or all")
    if seeds < 1:
        raise InputError(f"seeds must be a whole number of at least 1, not {seeds}.")
    if minutes is not None and not minutes > 0:
        raise InputError(f"minutes must be above 0, not {minutes:g}.")
    picked = select(table, cells)
    if not any(recipes.has(cell, mode) for cell in picked for mode in chosen):
        raise InputError("Mode algorithm1 is about Theorem 1, which is about dpdl only; take algorithm=dpdl.")
    wanted, clock = queue.missing(picked, chosen, seeds, out), queue.clock_of(out)
    wanted = queue.within(wanted, clock, at_once(jobs, max(1, len(wanted))), minutes)
    if dry_run:
        _list(wanted, clock, at_once(jobs, max(1, len(wanted))), as_json)
        return
    outcomes = _perform(wanted, clock, out, runs, jobs, minutes, quiet)
    rows = results.compared(out, picked, chosen)
    _show({"cells": rows, "rankings": results.rankings(rows)}, as_json)
    if any(outcome.state == "interrupted" for outcome in outcomes.values()):
        done = sum(outcome.state == "done" for outcome in outcomes.values())
        raise Interrupted(f"Interrupted with {done} of {len(outcomes)} runs finished; continue with the same command.")
    failed = [name for name, outcome in outcomes.items() if outcome.state != "done"]
    if failed:
        why = outcomes[failed[0]].facts.get("error", "it did not finish")
        raise RunFailed(f"{len(failed)} run(s) failed, the first, {failed[0]}: {why}")


def _perform(
    wanted: list[Any], clock: Any, out: Path, runs: Path, jobs: int | None, minutes: float | None, quiet: bool
) -> dict[str, Any]:
    from dpdl.cli.compare import Board
    from dpdl.reproduce import queue
    from dpdl.run.many import at_once
    from dpdl.tasks import data as datasets

    if not wanted:
        return {}
    for name in {one.cell.dataset for one in wanted}:
        datasets.load(name, not quiet)  # fetched once, before any child needs it
    at = at_once(jobs, len(wanted))
    total = sum(clock.seconds(one.experiment) for one in wanted) / at
    if not quiet:
        click.echo(f"{len(wanted)} runs, about {total / 60:.0f} minutes, {at} at a time.", err=True)
    with Board(quiet) as board:
        return queue.perform(wanted, out, runs, jobs, minutes, board)


def _list(wanted: list[Any], clock: Any, jobs: int, as_json: bool) -> None:
    rows = [{"name": one.name, "seconds": round(clock.seconds(one.experiment))} for one in wanted]
    minutes = sum(row["seconds"] for row in rows) / 60 / jobs
    if as_json:
        click.echo(json.dumps({"runs": rows, "minutes": round(minutes, 1), "jobs": jobs}))
        return
    for row in rows:
        click.echo(f"{row['seconds']:>7} s  {row['name']}")
    click.echo(f"{len(rows)} runs, about {minutes:.0f} minutes with {jobs} at a time.")


def _show(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts, allow_nan=False))
        return
    from rich.console import Console
    from rich.table import Table

    from dpdl.reproduce.recipes import MODES

    console = Console()
    for mode, about in MODES.items():
        rows = [row for row in facts["cells"] if row["mode"] == mode]
        if not rows:
            continue
        table = Table(title=f"{mode}: {about}")
        for name in ("cell", "algorithm"):
            table.add_column(name)
        for name in ("paper", "ours", "differs", "seeds"):
            table.add_column(name, justify="right")
        for row in rows:
            spread = "" if row["spread"] is None else f" ± {row['spread']:.1f}"
            inside = "" if row["within"] else " *"
            table.add_row(
                *(_place(row), row["algorithm"], f"{row['paper']:.1f} ± {row['paper_spread']:.1f}"),
                *(f"{row['ours']:.1f}{spread}", f"{row['difference']:+.1f}{inside}", str(len(row["seeds"]))),
            )
        console.print(table)
    if not facts["cells"]:
        console.print("Nothing was measured yet.")
    else:
        console.print("*: the difference is larger than the paper's spread.", highlight=False)
    for ranking in facts["rankings"]:
        word = "agrees" if ranking["agrees"] else "differs"
        place = f"{ranking['mode']}, {_place(ranking)}"
        console.print(f"Ranking {word}, {place}: ours {' > '.join(ranking['ours'])}.", highlight=False)
    if "measured" in facts:
        words = ", ".join(f"{mode} {count}" for mode, count in facts["measured"].items())
        console.print(f"Cells measured, of {facts['of']}: {words}.", highlight=False)


def _place(row: dict[str, Any]) -> str:
    return f"{row['dataset']} {row['graph']} {row['agents']}, α {row['alpha_d']:g}, ε {row['epsilon']:g}"
