"""Several algorithms under one budget: run what is missing, and make the table.

The same request finds finished runs finished, continues interrupted ones and starts missing ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import DpdlError
from dpdl.folder import names
from dpdl.folder.lock import locked
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.early import check_names
from dpdl.studies.comparison_folder import (
    ComparisonFile,
    ComparisonRun,
    merged,
    runs_of,
)
from dpdl.studies.comparison_request import Comparison
from dpdl.studies.comparison_table import ComparedRun, ComparisonTable, as_csv, tabulate
from dpdl.studies.folders import write_record, write_text
from dpdl.studies.pool import PoolWatch, RunMany, at_once, run_many
from dpdl.studies.pool_messages import Ending, EndState, PooledRun
from dpdl.training.interrupt import Interrupted

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment
    from dpdl.tasks.data import Dataset


def compare(
    c: Comparison,
    out: Path,
    *,
    jobs: int | None,
    watch: PoolWatch,
    progress: bool = False,
    pool: RunMany = run_many,
) -> ComparisonTable:
    """Run what is missing, and write and return the table.

    Nothing is run before all of it was checked; `pool` does the runs.
    """
    at_once(jobs, 1)
    wanted = {name: c.experiment(name) for name in c.own}
    with locked(out, names.COMPARISON, ComparisonFile) as before:
        file = merged(out, before, c, wanted)
        runs = runs_of(out, file)
        missing = [run for run in runs if not run.finished]
        todo = _checked(missing, c.megabytes, progress)
        write_record(out / names.COMPARISON, file)
        ordered = [PooledRun(run.folder, run.experiment) for run in todo]
        endings = pool(ordered, at_once(jobs, len(todo)), watch)
        _refuse_interrupted(endings, runs)
        lr_from = {name: one.lr_from for name, one in file.algorithms.items()}
        results = [_result(run, endings) for run in runs]
        table = tabulate(results, c, str(out), lr_from)
        write_record(out / names.TABLE, table)
        write_text(out / names.TABLE_CSV, as_csv(table))
        return table


def _refuse_interrupted(
    endings: Mapping[str, Ending], runs: Sequence[ComparisonRun]
) -> None:
    if any(one.state is EndState.INTERRUPTED for one in endings.values()):
        done = sum(run.finished for run in runs)
        raise Interrupted(
            f"Interrupted with {done} of {len(runs)} runs finished; continue with the "
            "same command."
        )


def _result(run: ComparisonRun, endings: Mapping[str, Ending]) -> ComparedRun:
    if run.finished:
        summary = RunFolder(run.folder).summary()
        return ComparedRun(run.algorithm, run.experiment, summary)
    error = endings[run.folder.name].error or "It did not finish."
    return ComparedRun(run.algorithm, run.experiment, None, error)


# ------------------------------------------------------------------ before anything is run
def _checked(
    todo: Sequence[ComparisonRun], megabytes: float | None, progress: bool
) -> list[ComparisonRun]:
    """The runs with their rounds, after everything that can be wrong with them was looked for."""
    if not todo:
        return []
    check_names(todo[0].experiment)
    from dpdl.planning.plan import plan

    data = _data(todo[0].experiment, progress)
    counter = _RoundCounter(data)
    found = []
    for run in todo:
        try:
            if not run.started:
                if megabytes is not None:
                    run = run.with_rounds(counter.rounds(run, megabytes))
                plan(run.experiment, data=data)
        except DpdlError as failure:
            seed = run.experiment.seed
            raise type(failure)(f"{run.algorithm}, seed {seed}: {failure}") from failure
        found.append(run)
    return found


def _data(e: Experiment, progress: bool) -> Dataset | None:
    """The data set of all runs, fetched before any child needs it; None: records are at sites."""
    from dpdl.tasks import data as datasets
    from dpdl.tasks.targets import predicted

    if e.sites is not None:
        return None
    return datasets.load(e.dataset, progress, predicted(e.predict))


class _RoundCounter:
    """How many rounds of a run send so many megabytes; runs that send the same are counted once."""

    def __init__(self, data: Dataset | None) -> None:
        self._data = data
        self._counted: dict[tuple[str, bytes], int] = {}

    def rounds(self, run: ComparisonRun, megabytes: float) -> int:
        """The most rounds that fit. Bytes do not depend on the noise, so none is planned for."""
        from dpdl.planning.plan import plan
        from dpdl.planning.traffic import most_rounds

        silent = replace(run.experiment, noise="none", sigma=None, budget=None)
        p = plan(silent, data=self._data)
        key = run.algorithm, p.graph.W.tobytes()
        if key not in self._counted:
            self._counted[key] = most_rounds(p.public, megabytes)
        return self._counted[key]
