"""The queue: cells and seeds that are missing, the most telling first, in parallel processes.

A run that was interrupted goes on, one that is finished is never done again, and results are
written as they come.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dpdl.errors import RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.paper.cells import Cell
from dpdl.studies.pool import PoolWatch, at_once, run_many
from dpdl.studies.pool_messages import Ending, EndState, News, PooledRun
from dpdl.studies.reproduce import store
from dpdl.studies.reproduce.clock import Clock, fitting
from dpdl.studies.reproduce.recipes import PAPER, Recipes, has
from dpdl.training.interrupt import Interrupted, deadline


class Wanted(NamedTuple):
    """One run."""

    cell: Cell
    mode: str
    experiment: Experiment

    @property
    def name(self) -> str:
        """Of its run folder."""
        return name_of(self.cell, self.mode, self.experiment.seed)


def name_of(cell: Cell, mode: str, seed: int | str) -> str:
    """The run folder of a seed."""
    return f"{mode}-{cell.name}-seed{seed}"


def missing(
    cells: Iterable[Cell],
    modes: Sequence[str],
    seeds: int,
    out: Path,
    recipes: Recipes = PAPER,
) -> list[Wanted]:
    """What was not measured yet: all cells with the first seed, then all with the second."""
    found = []
    for seed, cell, mode in itertools.product(range(seeds), list(cells), modes):
        if has(cell, mode):
            e = recipes.experiment(cell, mode, seed)
            store.refuse_other(out, cell, mode, e)
            before = store.read(out, cell, mode)
            if not before or str(seed) not in before["runs"]:
                found.append(Wanted(cell, mode, e))
    return found


def with_other_recipes(
    cells: Iterable[Cell], mode: str, out: Path, recipes: Recipes = PAPER
) -> list[Cell]:
    """Those whose results were measured with other settings than the recipe has now."""
    known = [cell for cell in cells if has(cell, mode)]
    return [
        cell
        for cell in known
        if store.other_setting(out, cell, mode, recipes.experiment(cell, mode, 0))
    ]


def within(
    wanted: Sequence[Wanted], clock: Clock, jobs: int, minutes: float | None
) -> list[Wanted]:
    """Those that should be done in time, in their order."""
    seconds = [clock.seconds(one.experiment) for one in wanted]
    return fitting(wanted, seconds, jobs, minutes)


# ------------------------------------------------------------------ running
def perform(
    wanted: Sequence[Wanted],
    out: Path,
    runs: Path,
    jobs: int | None,
    minutes: float | None,
    watch: PoolWatch,
) -> dict[str, Ending]:
    """Run them, and write each result as soon as it is there."""
    by_name = {one.name: one for one in wanted}
    for one in wanted:
        if _finished(one, runs):  # it ended when nobody listened
            _enter(one, out, runs)

    def heard(name: str, news: News) -> None:
        if isinstance(news, Ending) and news.state is EndState.DONE:
            _enter(by_name[name], out, runs)
        watch(name, news)

    todo = [
        PooledRun(runs / one.name, one.experiment)
        for one in wanted
        if not _finished(one, runs)
    ]
    with deadline(minutes) as stop:
        return run_many(todo, at_once(jobs, len(todo)), heard, stop)


def refuse_unfinished(endings: Mapping[str, Ending]) -> None:
    """Say what was interrupted or failed; what is finished is kept."""
    states = {name: ending.state for name, ending in endings.items()}
    if EndState.INTERRUPTED in states.values():
        done = sum(state is EndState.DONE for state in states.values())
        raise Interrupted(
            f"Interrupted with {done} of {len(states)} runs finished; continue with "
            "the same command."
        )
    failed = [name for name, state in states.items() if state is not EndState.DONE]
    if failed:
        why = endings[failed[0]].error or "it did not finish"
        raise RunFailed(f"{len(failed)} run(s) failed, the first, {failed[0]}: {why}")


def _finished(one: Wanted, runs: Path) -> bool:
    return RunFolder(runs / one.name).finished


def _enter(one: Wanted, out: Path, runs: Path) -> None:
    run = RunFolder(runs / one.name)
    store.add(
        out,
        one.cell,
        one.mode,
        one.experiment,
        run.summary().to_json(),
        _commit(),
        [metrics.to_json() for metrics in run.metrics()],
    )


def recall_curves(
    cells: Iterable[Cell], modes: Sequence[str], out: Path, runs: Path
) -> None:
    """Enter curves into results from before they were kept.

    They come from the run folders, as far as these are still there.
    """
    for cell, mode in itertools.product(cells, modes):
        result = store.read(out, cell, mode) or {"runs": {}}
        for seed, entry in result["runs"].items():
            run = RunFolder(runs / name_of(cell, mode, seed))
            if "curve" not in entry and run.finished:
                metrics = [one.to_json() for one in run.metrics()]
                store.add_curve(out, cell, mode, seed, run.summary().to_json(), metrics)


@cache
def _commit() -> str | None:
    """The commit that this code is from, if it runs from a checkout."""
    try:
        here = Path(__file__).parent
        found = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
