"""`dpdl reproduce`: the paper's tables and figures, made again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from dpdl.cli.reproduce_show import duration, list_runs, show, show_attacks
from dpdl.errors import InputError, RunFailed, unknown
from dpdl.run.interrupt import Interrupted

if TYPE_CHECKING:
    from dpdl.paper.cells import Cell, Place
    from dpdl.reproduce.queue import Clock, Wanted
    from dpdl.run.many import Outcome

STATUS = "status"
USUAL = "as-published"


@click.command()
@click.argument("table", required=False, metavar="[TABLE|FIGURE|status]")
@click.option("--cells", default="", help="such as graph=ring/complete,agents=10,epsilon=0.5 [all]")
@click.option("--mode", "modes", help="as-published, algorithm1, sound, or all [as-published; status: all]")
@click.option("--seeds", type=int, default=1, show_default=True, help="runs of every cell: seed 0, 1, ...")
@click.option("--minutes", type=float, default=None, help="do the most telling cells that fit into this time")
@click.option("--jobs", type=int, default=None, help="runs, or parts of an attack, at the same time [one per core]")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="results")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs/reproduce"), show_default=True, help="runs")
@click.option("--dry-run", is_flag=True, help="only say what would be run, and how long it should take")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("--markdown", is_flag=True, help="with status: print tables in Markdown")
@click.option("--quiet", is_flag=True, help="no progress")
def reproduce(**options: Any) -> None:
    """Run cells of the paper's tables and figures, and show them beside the paper's numbers.

    What was measured is not measured again; what was interrupted is continued. TABLE is acc-mnist, acc-mnist-2 (ring),
    acc-cifar or acc-cifar-2, or all of these; attack-mnist or attack-cifar10. FIGURE is conv-mnist-GRAPH or
    conv-cifar-GRAPH, where GRAPH is bipartite, complete or ring. `status` shows what there is.
    """
    from dpdl.paper.cells import names_of_attacks

    asked = Asked(**options)
    if asked.table == STATUS:
        _status(asked)
    elif asked.table in names_of_attacks():
        _attacks(asked)
    else:
        _cells(asked)


@final
@dataclass(frozen=True)
class Asked:
    """The options."""

    table: str | None
    cells: str
    modes: str | None
    seeds: int
    minutes: float | None
    jobs: int | None
    out: Path
    runs: Path
    dry_run: bool
    as_json: bool
    markdown: bool
    quiet: bool

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds must be a whole number of at least 1, not {self.seeds}.")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"minutes must be above 0, not {self.minutes:g}.")
        if self.markdown and (self.table != STATUS or self.as_json):
            raise InputError("--markdown is for status, without --json.")

    def chosen_modes(self, usual: str) -> list[str]:
        """By name, or all."""
        from dpdl.reproduce.recipes import MODES

        words = usual if self.modes is None else self.modes
        chosen = list(MODES) if words == "all" else words.split(",")
        for mode in chosen:
            if mode not in MODES:
                raise unknown("mode", mode, MODES, "or all")
        return chosen


# ------------------------------------------------------------------ what there is
def _status(asked: Asked) -> None:
    from dpdl.reproduce import results
    from dpdl.reproduce.markdown import tables

    needless = {
        "seeds": asked.seeds != 1,
        "minutes": asked.minutes,
        "jobs": asked.jobs is not None,
        "dry-run": asked.dry_run,
    }
    for name, given in needless.items():
        if given:
            raise InputError(f"status runs nothing: leave --{name} out.")
    facts = results.status(asked.out, asked.cells, asked.chosen_modes("all"))
    if asked.markdown:
        for title, table in tables(facts["cells"]).items():
            click.echo(f"*{title}*\n\n{table}\n")
    else:
        show(facts, asked.as_json)


# ------------------------------------------------------------------ accuracies and curves
def _cells(asked: Asked) -> None:
    from dpdl.paper import FIGURES
    from dpdl.paper.cells import select
    from dpdl.reproduce import queue, recipes, results
    from dpdl.run.many import at_once

    chosen, picked = asked.chosen_modes(USUAL), select(asked.table, asked.cells, recipes.BEYOND)
    if not any(recipes.has(cell, mode) for cell in picked for mode in chosen):
        raise InputError(recipes.WITHOUT)
    (wanted, old), clock = _missing(picked, chosen, asked), queue.clock_of(asked.out)
    wanted = queue.within(wanted, clock, at_once(asked.jobs, max(1, len(wanted))), asked.minutes)
    if asked.dry_run:
        times = [(one.name, clock.seconds(one.experiment)) for one in wanted]
        list_runs(times, at_once(asked.jobs, max(1, len(wanted))), "runs", asked.as_json)
        return
    outcomes = _perform(wanted, clock, asked)
    rows = results.compared(asked.out, picked, chosen)
    facts: dict[str, Any] = {
        "cells": results.without_curves(rows),
        "rankings": results.rankings(rows),
        "proven": results.proven(rows),
    }
    if asked.table in FIGURES:
        facts |= {"figures": _draw(asked.table, chosen, asked), "other_recipe": old}
    show(facts, asked.as_json)
    _complain(outcomes)


def _missing(picked: list[Cell], modes: list[str], asked: Asked) -> tuple[list[Wanted], int]:
    """What to run; and how many cells have other recipes by now: a figure shows them as they are, a table refuses."""
    from dpdl.paper import FIGURES
    from dpdl.reproduce import queue

    if asked.table not in FIGURES:
        return queue.missing(picked, modes, asked.seeds, asked.out), 0
    found, count = [], 0
    for mode in modes:
        old = queue.with_other_recipes(picked, mode, asked.out)
        fresh = [cell for cell in picked if cell not in old]
        found += queue.missing(fresh, [mode], asked.seeds, asked.out)
        count += len(old)
    return found, count


def _perform(wanted: list[Wanted], clock: Clock, asked: Asked) -> dict[str, Outcome]:
    from dpdl.cli.compare import Board
    from dpdl.reproduce import queue, recipes
    from dpdl.run.many import at_once
    from dpdl.tasks import data as datasets

    if not wanted:
        return {}
    for name in {one.cell.dataset for one in wanted}:
        datasets.load(name, not asked.quiet)  # fetched once, before any child needs it
    at = at_once(asked.jobs, len(wanted))
    total = sum(clock.seconds(one.experiment) for one in wanted) / at
    if not asked.quiet:
        click.echo(f"{len(wanted)} runs, about {duration(total)}, {at} at a time.", err=True)
    if count := sum(recipes.untuned(one.cell, one.mode) for one in wanted):
        click.echo(f"No step size was searched for {count} of them: expect less than is possible.", err=True)
    with Board(asked.quiet) as board:
        return queue.perform(wanted, asked.out, asked.runs, asked.jobs, asked.minutes, board)


def _complain(outcomes: dict[str, Outcome]) -> None:
    if any(outcome.state == "interrupted" for outcome in outcomes.values()):
        done = sum(outcome.state == "done" for outcome in outcomes.values())
        raise Interrupted(f"Interrupted with {done} of {len(outcomes)} runs finished; continue with the same command.")
    failed = [name for name, outcome in outcomes.items() if outcome.state != "done"]
    if failed:
        why = outcomes[failed[0]].facts.get("error", "it did not finish")
        raise RunFailed(f"{len(failed)} run(s) failed, the first, {failed[0]}: {why}")


def _draw(figure: str, modes: list[str], asked: Asked) -> dict[str, str | None]:
    """Mode -> the picture of all cells of a figure that have a curve, whichever were asked for now."""
    from dpdl.paper.cells import algorithms_of_paper, select
    from dpdl.report.convergence import draw_convergence, drawable
    from dpdl.reproduce import queue, recipes, results

    shown, algorithms = select(figure), algorithms_of_paper()
    queue.recall_curves(shown, modes, asked.out, asked.runs)
    found: dict[str, str | None] = dict.fromkeys(modes)
    for mode in modes:
        rows = list(filter(drawable, results.compared(asked.out, shown, [mode])))
        if rows:
            path = asked.out / "figures" / f"{mode}-{figure}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            found[mode] = str(draw_convergence(rows, algorithms, path, mode, recipes.MODES[mode]))
    return found


# ------------------------------------------------------------------ attacks
def _attacks(asked: Asked) -> None:
    from dpdl.attacks.paper import experiments
    from dpdl.paper.cells import places
    from dpdl.parallel import cores
    from dpdl.reproduce import attacks, queue
    from dpdl.run.many import at_once

    if asked.modes is not None:
        raise InputError(f"Table {asked.table} is of attacks, which have no modes: leave --mode out.")
    if asked.seeds != 1:
        raise InputError(f"Table {asked.table} is of attacks, which have seed 0 only: leave --seeds out.")
    picked, clock, jobs = places(asked.table, asked.cells), queue.clock_of(asked.out), at_once(asked.jobs, cores())
    wanted = [place for place in picked if attacks.read(asked.out, place) is None]
    times = {p: attacks.seconds(p, experiments(*p, 0).values(), clock.seconds) for p in wanted}
    wanted = queue.fitting(wanted, [times[place] / jobs for place in wanted], 1, asked.minutes)
    if asked.dry_run:
        list_runs([(_folder(place), times[place]) for place in wanted], jobs, "attacks", asked.as_json)
        return
    if wanted and not asked.quiet:
        total = sum(times[place] for place in wanted) / jobs
        click.echo(f"{len(wanted)} attacks, about {duration(total)}.", err=True)
    outcomes = _perform_attacks(wanted, jobs, asked)
    files = [str(attacks.path_of(asked.out, place)) for place in picked if attacks.read(asked.out, place)]
    show_attacks({"cells": attacks.compared(asked.out, picked), "files": files}, asked.as_json)
    _complain(outcomes)


def _folder(place: Place) -> str:
    from dpdl.cli.attack import folder_of

    return folder_of(place, 0)


def _perform_attacks(wanted: list[Place], jobs: int, asked: Asked) -> dict[str, Outcome]:
    """One after the other, each result written as soon as it is there; how each ended."""
    from dpdl.attacks.harness import Effort
    from dpdl.attacks.paper import kept
    from dpdl.cli import attack as command
    from dpdl.reproduce import attacks
    from dpdl.run.many import Outcome

    found = {_folder(place): Outcome("interrupted", {}) for place in wanted}
    effort, how = Effort(), command.How(quiet=asked.quiet, jobs=jobs)
    try:
        with attacks.deadline(asked.minutes):
            for place, name in zip(wanted, found, strict=True):
                try:
                    facts = command.attack_paper(place, asked.runs / name, command.Asked(), effort, how)
                    attacks.add(asked.out, place, kept(facts, *place, effort))
                    found[name] = Outcome("done", {})
                except RunFailed as failure:  # the others may do better
                    found[name] = Outcome("failed", {"error": str(failure)})
    except (KeyboardInterrupt, Interrupted):
        return found
    return found
