"""Results of cells: where they are, and how a run is added to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.cell_results import (
    CellResult,
    SeedResult,
    in_order,
    mean_and_spread,
    read_result,
    write_result,
)
from dpdl.paper.cells import DPDL, Cell, claim, published
from dpdl.records import JsonObject, written
from dpdl.studies.reproduce.recipes import MODES

ACCURACY = (
    "test accuracy in percent of the average of all agents' models after the last round"
)


def path_of(out: Path, cell: Cell, mode: str) -> Path:
    """Where a cell's result is."""
    return out / mode / names.result_of(cell.name)


def read(out: Path, cell: Cell, mode: str) -> CellResult | None:
    """A cell's result; None when nothing was measured."""
    return read_result(path_of(out, cell, mode))


def add(out: Path, cell: Cell, mode: str, e: Experiment, run: SeedResult) -> CellResult:
    """Add the run of one seed to its cell's result; all seeds must have the same settings."""
    refuse_other_settings(out, cell, mode, e)
    before = read(out, cell, mode)
    earlier = before.runs if before else {}
    runs = in_order({**earlier, str(e.seed): run})
    ours, spread = mean_and_spread(runs)
    paper = claim(cell)
    result = CellResult(
        *cell,
        mode=mode,
        ours=ours,
        spread=spread,
        paper=paper.accuracy,
        paper_spread=paper.spread,
        paper_algorithm=cell.algorithm if cell in published() else DPDL,
        guarantee=MODES[mode],
        accuracy=ACCURACY,
        runs=runs,
        settings=settings_of(e),
        note=before.note if before else None,
    )
    write_result(path_of(out, cell, mode), result)
    return result


def add_curve(out: Path, cell: Cell, mode: str, seed: str, run: SeedResult) -> None:
    """Add the curve of a run that is in its cell's result without one, if it is the same run."""
    found = read(out, cell, mode)
    before = found.runs.get(seed) if found else None
    if found and before == replace(run, curve=None):
        runs = {**found.runs, seed: run}
        write_result(path_of(out, cell, mode), replace(found, runs=runs))


def settings_of(e: Experiment) -> JsonObject:
    """What all seeds of a cell share: the experiment without its seed."""
    values = e.as_dict().items()
    return {name: written(value) for name, value in values if name != "seed"}


def refuse_other_settings(out: Path, cell: Cell, mode: str, e: Experiment) -> None:
    """Refuse an experiment with other settings than those of the seeds that were measured."""
    found = read(out, cell, mode)
    name = other_setting(found, e)
    if found and name:
        raise InputError(
            f"Result {str(path_of(out, cell, mode))!r} was measured with {name} = "
            f"{found.settings[name]!r}, the recipe now has {e.as_dict()[name]!r}; "
            "move the file away to measure it anew."
        )


def other_setting(found: CellResult | None, e: Experiment) -> str | None:
    """The first setting that a result was not measured with.

    None when all are the same, or nothing was measured. A setting that the file does not have is
    one that did not exist when it was written.
    """
    before = found.settings if found else {}
    now = settings_of(e)
    differ = (name for name in now if before.get(name, now[name]) != now[name])
    return next(differ, None)
