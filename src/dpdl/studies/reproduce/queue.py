"""The queue: runs of cells that are missing, the most informative first, in parallel processes.

An interrupted run is continued, a finished one is never repeated, and each result is written as
soon as its run has ended.
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
from dpdl.studies.reproduce import cell_store
from dpdl.studies.reproduce.recipes import PAPER, Recipes, is_in_mode
from dpdl.studies.reproduce.run_times import RunTimes, fitting
from dpdl.studies.reproduce.seed_results import seed_result
from dpdl.training.interrupt import Interrupted, deadline


class CellRun(NamedTuple):
    """The run of one seed of a cell, in one mode."""

    cell: Cell
    mode: str
    experiment: Experiment

    @property
    def name(self) -> str:
        """Of its run folder."""
        return run_name(self.cell, self.mode, self.experiment.seed)


def run_name(cell: Cell, mode: str, seed: int | str) -> str:
    """The run folder of a seed."""
    return f"{mode}-{cell.name}-seed{seed}"


def missing(
    cells: Iterable[Cell],
    modes: Sequence[str],
    seeds: int,
    out: Path,
    recipes: Recipes = PAPER,
) -> list[CellRun]:
    """What was not measured yet: all cells with the first seed, then all with the second."""
    found = []
    for seed, cell, mode in itertools.product(range(seeds), list(cells), modes):
        if is_in_mode(cell, mode):
            e = recipes.experiment(cell, mode, seed)
            cell_store.refuse_other_settings(out, cell, mode, e)
            before = cell_store.read(out, cell, mode)
            if not before or str(seed) not in before.runs:
                found.append(CellRun(cell, mode, e))
    return found


def with_other_recipes(
    cells: Iterable[Cell], mode: str, out: Path, recipes: Recipes = PAPER
) -> list[Cell]:
    """Those whose results were measured with other settings than the recipe has now."""
    return [cell for cell in cells if _has_other_recipe(cell, mode, out, recipes)]


def _has_other_recipe(cell: Cell, mode: str, out: Path, recipes: Recipes) -> bool:
    if not is_in_mode(cell, mode):
        return False
    result = cell_store.read(out, cell, mode)
    e = recipes.experiment(cell, mode, 0)
    return cell_store.other_setting(result, e) is not None


def within(
    wanted: Sequence[CellRun], times: RunTimes, jobs: int, minutes: float | None
) -> list[CellRun]:
    """Those that should be done in time, in their order."""
    seconds = [times.seconds(one.experiment) for one in wanted]
    return fitting(wanted, seconds, jobs, minutes)


# ------------------------------------------------------------------ running
def perform(
    wanted: Sequence[CellRun],
    out: Path,
    runs: Path,
    jobs: int | None,
    minutes: float | None,
    watch: PoolWatch,
) -> dict[str, Ending]:
    """Run them, and write each result as soon as it is there."""
    by_name = {one.name: one for one in wanted}
    for one in wanted:
        if _finished(one, runs):  # it ended after its parent process had
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


def _finished(one: CellRun, runs: Path) -> bool:
    return RunFolder(runs / one.name).finished


def _enter(one: CellRun, out: Path, runs: Path) -> None:
    run = seed_result(RunFolder(runs / one.name), _commit())
    cell_store.add(out, one.cell, one.mode, one.experiment, run)


def recall_curves(
    cells: Iterable[Cell], modes: Sequence[str], out: Path, runs: Path
) -> None:
    """Add curves to results from before they were kept.

    They come from the run folders, as far as these are still there.
    """
    for cell, mode in itertools.product(cells, modes):
        result = cell_store.read(out, cell, mode)
        known = result.runs.items() if result else ()
        for seed, before in known:
            run = RunFolder(runs / run_name(cell, mode, seed))
            if before.curve is None and run.finished:
                found = seed_result(run, before.commit)
                cell_store.add_curve(out, cell, mode, seed, found)


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
