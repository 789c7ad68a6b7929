"""Accuracies and curves of the paper, made again: choose cells, run what is missing, compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dpdl.errors import InputError
from dpdl.extras import PLOTS, is_installed
from dpdl.folder import names
from dpdl.pages.compared_cells import MeasuredCell
from dpdl.paper import FIGURES
from dpdl.paper.cells import Cell, algorithms_of_paper, select
from dpdl.studies.pool import PoolWatch, at_once
from dpdl.studies.pool_messages import Ending
from dpdl.studies.reproduce import beside_paper, queue
from dpdl.studies.reproduce.forecast import Announce, Beginning, Forecast, Reproduced
from dpdl.studies.reproduce.printed import PrintedCells
from dpdl.studies.reproduce.queue import CellRun
from dpdl.studies.reproduce.recipes import (
    BEYOND,
    MODES,
    PAPER,
    WITHOUT,
    Recipes,
    is_in_mode,
)
from dpdl.studies.reproduce.request import ReproductionRequest
from dpdl.studies.reproduce.run_times import RunTimes, run_times


class CellWork(NamedTuple):
    """The cells that were requested, and what is to be run of them."""

    cells: list[Cell]
    modes: list[str]
    wanted: list[CellRun]
    others: int  # cells of a figure that were measured with other recipes
    times: RunTimes

    def forecast(self, jobs: int | None) -> Forecast:
        """How long it should take."""
        seconds = {one.name: self.times.seconds(one.experiment) for one in self.wanted}
        return Forecast(seconds, at_once(jobs, max(1, len(seconds))))


def plan_cells(request: ReproductionRequest, recipes: Recipes = PAPER) -> Forecast:
    """What `measure_cells` would run."""
    return work_for(request, recipes).forecast(request.jobs)


def measure_cells(
    request: ReproductionRequest,
    watch: PoolWatch,
    announce: Announce = lambda beginning: None,
    recipes: Recipes = PAPER,
    progress: bool = False,
) -> Reproduced[PrintedCells]:
    """Run what is missing of the requested cells, and put all of them beside the paper's.

    With `progress`, data sets are fetched with a progress bar.
    """
    work = work_for(request, recipes)
    endings = _perform(work, request, watch, announce, recipes, progress)
    rows = beside_paper.compared(request.out, work.cells, work.modes)
    facts = beside_paper.concluded(rows)
    if request.table in FIGURES:
        figures = draw_figures(request.table, work.modes, request)
        facts = replace(facts, figures=figures, other_recipe=work.others)
    return Reproduced(facts, endings)


def work_for(request: ReproductionRequest, recipes: Recipes = PAPER) -> CellWork:
    """The requested cells; those of them that are missing and fit into the time."""
    modes = request.chosen_modes()
    cells = select(request.table, request.cells, BEYOND)
    if not any(is_in_mode(cell, mode) for cell in cells for mode in modes):
        raise InputError(WITHOUT)
    wanted, others = _missing(cells, modes, request, recipes)
    times = run_times(request.out)
    jobs = at_once(request.jobs, max(1, len(wanted)))
    fitting = queue.within(wanted, times, jobs, request.minutes)
    return CellWork(cells, modes, fitting, others, times)


def _missing(
    cells: Sequence[Cell],
    modes: Sequence[str],
    request: ReproductionRequest,
    recipes: Recipes,
) -> tuple[list[CellRun], int]:
    """What to run, and how many cells were measured with other recipes.

    A figure shows such cells as they are; a table refuses them.
    """
    seeds, out = request.seeds, request.out
    if request.table not in FIGURES:
        return queue.missing(cells, modes, seeds, out, recipes), 0
    found, others = [], 0
    for mode in modes:
        old = queue.with_other_recipes(cells, mode, out, recipes)
        fresh = [cell for cell in cells if cell not in old]
        found += queue.missing(fresh, [mode], seeds, out, recipes)
        others += len(old)
    return found, others


def _perform(
    work: CellWork,
    request: ReproductionRequest,
    watch: PoolWatch,
    announce: Announce,
    recipes: Recipes,
    progress: bool,
) -> dict[str, Ending]:
    from dpdl.tasks import data as datasets

    wanted = work.wanted
    if not wanted:
        return {}
    for name in {one.experiment.dataset for one in wanted}:
        datasets.load(name, progress)  # fetched once, before any child needs it
    untuned = sum(recipes.untuned(one.cell, one.mode) for one in wanted)
    announce(Beginning(work.forecast(request.jobs), untuned))
    return queue.perform(
        wanted, request.out, request.runs, request.jobs, request.minutes, watch
    )


# ------------------------------------------------------------------ figures
def draw_figures(
    figure: str, modes: Sequence[str], request: ReproductionRequest
) -> dict[str, str | None]:
    """Mode -> the picture of a figure; None when no cell has a curve, or nothing can be drawn."""
    queue.recall_curves(select(figure), modes, request.out, request.runs)
    found: dict[str, str | None] = dict.fromkeys(modes)
    for mode in modes if is_installed(PLOTS) else ():
        cells = cells_with_curves(figure, mode, request.out)
        if cells:
            path = request.out / names.FIGURES / names.figure_of(mode, figure)
            path.parent.mkdir(parents=True, exist_ok=True)
            found[mode] = str(_draw(cells, path, mode))
    return found


def _draw(cells: Sequence[MeasuredCell], path: Path, mode: str) -> Path:
    from dpdl.pages.convergence import draw_convergence

    return draw_convergence(cells, algorithms_of_paper(), path, mode, MODES[mode])


def cells_with_curves(figure: str, mode: str, out: Path) -> list[MeasuredCell]:
    """All cells of a figure that have a curve, also those that were not requested now."""
    from dpdl.pages.convergence import drawable

    found = beside_paper.measured(out, select(figure), [mode])
    return [cell for cell in found if drawable(cell)]
