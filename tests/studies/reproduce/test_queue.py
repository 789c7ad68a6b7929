"""The queue: what is missing, what fits, and that nothing is lost or done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.paper.cells import Cell, select
from dpdl.studies.pool_messages import Ending, EndState
from dpdl.studies.reproduce import cell_store, queue, recipes
from dpdl.studies.reproduce.recipes import Recipes
from dpdl.studies.reproduce.run_times import RunTimes
from dpdl.training.interrupt import Interrupted
from tests.studies.reproduce.small import (
    CELL,
    CURVE,
    LONG,
    entered,
    left_behind,
    small,
)


# ------------------------------------------------------------------ what to run
def test_what_is_measured_is_not_missing_and_first_seeds_come_first(
    tmp_path: Path,
) -> None:
    cells = select(
        None, "graph=ring,agents=10,alpha_d=0.25,algorithm=dpdl/muffliato,epsilon=0.5"
    )
    entered(tmp_path, cells[0])
    found = queue.missing(cells, ["as-published", "algorithm1"], 2, tmp_path)
    names = [(one.cell.algorithm, one.mode, one.experiment.seed) for one in found]
    assert names == [
        ("dpdl", "algorithm1", 0),
        ("muffliato", "as-published", 0),
        ("dpdl", "as-published", 1),
        ("dpdl", "algorithm1", 1),
        ("muffliato", "as-published", 1),
    ]


def test_seeds_with_other_settings_are_not_mixed(tmp_path: Path) -> None:
    def shorter(cell: Cell, mode: str, seed: int) -> Experiment:
        return replace(recipes.experiment(cell, mode, seed), rounds=900)

    entered(tmp_path, CELL)
    with pytest.raises(InputError, match="rounds = 1000, the recipe now has 900"):
        queue.missing([CELL], ["as-published"], 2, tmp_path, Recipes(shorter))


def test_a_budget_takes_what_fits_in_order() -> None:
    cells = select(
        None,
        "graph=ring/bipartite,agents=10,alpha_d=0.25,dataset=mnist,algorithm=dpdl,epsilon=0.5",
    )
    wanted = [
        queue.CellRun(cell, "as-published", recipes.experiment(cell, "as-published", 0))
        for cell in cells
    ]
    times = RunTimes(
        {("mnist", "lenet"): 1e-5}
    )  # 130 s on the bipartite graph, 65 s on the ring
    assert [one.cell.graph for one in queue.within(wanted, times, 1, None)] == [
        "bipartite",
        "ring",
    ]
    assert [one.cell.graph for one in queue.within(wanted, times, 1, 3.0)] == [
        "bipartite"
    ]
    assert [one.cell.graph for one in queue.within(wanted, times, 2, 3.0)] == [
        "bipartite",
        "ring",
    ]
    assert [one.cell.graph for one in queue.within(wanted, times, 2, 2.0)] == [
        "ring"
    ]  # the large one takes too long
    with pytest.raises(
        InputError, match=r"too few for one cell: the shortest should take 1\.1"
    ):
        queue.within(wanted, times, 2, 1.0)


# ------------------------------------------------------------------ running
def test_results_are_written_and_finished_runs_are_not_done_again(
    tmp_path: Path,
) -> None:
    wanted = [small(CELL, seed, 3) for seed in (0, 1)]
    heard: list[str] = []
    outcomes = queue.perform(
        wanted,
        tmp_path / "r",
        tmp_path / "runs",
        2,
        None,
        lambda name, news: heard.append(name),
    )
    assert {outcome.state for outcome in outcomes.values()} == {"done"} and heard
    path = cell_store.path_of(tmp_path / "r", CELL, "as-published")
    assert sorted(json.loads(path.read_text())["runs"]) == ["0", "1"]
    path.unlink()  # as if the power had failed before it was written: the run folders are enough
    assert (
        queue.perform(
            wanted, tmp_path / "r", tmp_path / "runs", 2, None, lambda name, news: None
        )
        == {}
    )
    assert sorted(json.loads(path.read_text())["runs"]) == ["0", "1"]


def test_a_deadline_stops_what_goes_on_and_keeps_it(tmp_path: Path) -> None:
    wanted = [small(CELL, 0, 100_000)]
    outcomes = queue.perform(
        wanted, tmp_path / "r", tmp_path / "runs", 1, 0.15, lambda name, news: None
    )
    assert [outcome.state for outcome in outcomes.values()] == ["interrupted"]
    folder = tmp_path / "runs" / wanted[0].name
    if folder.exists():  # on a busy machine the time may be over before a run begins
        charged = len((folder / "ledger.jsonl").read_text().splitlines()) - 1
        assert charged == 0 or (folder / "state.safetensors").exists()
    assert cell_store.read(tmp_path / "r", CELL, "as-published") is None


SCRIPT = """
import sys
from pathlib import Path
from dpdl.studies.reproduce import queue
from tests.studies.reproduce.small import CELL, LONG, small
base = Path(sys.argv[1])
wanted = [small(CELL, 0, 3), small(LONG, 0, 120)]
tell = lambda name, news: print(name, news, flush=True)
queue.perform(wanted, base / "r", base / "runs", 1, None, tell)
"""


def test_kill_9_in_the_middle_loses_nothing_and_does_nothing_twice(
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    second = tmp_path / "runs" / small(LONG, 0, 120).name
    metrics = second / "ledger.jsonl"
    until = time.monotonic() + 120
    while not (metrics.exists() and len(metrics.read_text().splitlines()) > 20):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert cell_store.read(
        tmp_path / "r", CELL, "as-published"
    ) and not cell_store.read(tmp_path / "r", LONG, "as-published")
    assert not (second / "summary.json").exists()
    first = tmp_path / "runs" / small(CELL, 0, 3).name
    before = {file: file.stat().st_mtime_ns for file in first.iterdir()}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    found = cell_store.read(tmp_path / "r", LONG, "as-published")
    assert found and list(found.runs) == ["0"]
    assert before == {file: file.stat().st_mtime_ns for file in first.iterdir()}, (
        "the finished run was touched"
    )
    rounds = [
        json.loads(line).get("round") for line in metrics.read_text().splitlines()
    ]
    paid = [t for t in rounds if t is not None]
    assert len(paid) <= 122 and set(paid) == set(range(1, 121)), (
        "it went on where it was"
    )


# ------------------------------------------------------------------ results from before
def test_a_run_that_ended_alone_is_entered_with_its_curve(tmp_path: Path) -> None:
    left_behind(tmp_path / "runs")
    e = recipes.experiment(CELL, "as-published", 0)
    one = queue.CellRun(CELL, "as-published", e)
    out, runs = tmp_path / "r", tmp_path / "runs"
    assert queue.perform([one], out, runs, 1, None, lambda name, news: None) == {}
    found = cell_store.read(out, CELL, "as-published")
    assert found and found.runs["0"].curve == CURVE


def test_a_curve_is_taken_from_a_run_folder_that_is_still_there(tmp_path: Path) -> None:
    before = entered(tmp_path, CELL)
    runs = tmp_path / "runs"
    queue.recall_curves([CELL], ["as-published", "sound"], tmp_path, runs)
    assert cell_store.read(tmp_path, CELL, "as-published") == before
    left_behind(runs)
    queue.recall_curves([CELL], ["as-published", "sound"], tmp_path, runs)
    found = cell_store.read(tmp_path, CELL, "as-published")
    assert found and found.runs["0"].curve == CURVE
    assert replace(found, runs=before.runs) == before, "nothing else has changed"


def test_a_folder_of_another_run_gives_no_curve(tmp_path: Path) -> None:
    before = entered(tmp_path, CELL)
    left_behind(tmp_path / "runs", seconds=99.0)
    queue.recall_curves([CELL], ["as-published"], tmp_path, tmp_path / "runs")
    assert cell_store.read(tmp_path, CELL, "as-published") == before


def test_cells_with_other_recipes_are_found(tmp_path: Path) -> None:
    def shorter(cell: Cell, mode: str, seed: int) -> Experiment:
        return replace(recipes.experiment(cell, mode, seed), rounds=900)

    entered(tmp_path, CELL)
    cells = [CELL, LONG, CELL._replace(algorithm="decor")]
    found = queue.with_other_recipes(cells, "as-published", tmp_path, Recipes(shorter))
    assert found == [CELL]
    assert queue.with_other_recipes(cells, "as-published", tmp_path) == []


@pytest.mark.parametrize(
    ("states", "kind", "hint"),
    [
        (["done", "interrupted"], Interrupted, "with 1 of 2 runs finished"),
        (["done", "failed"], RunFailed, "1 run(s) failed, the first, run 1: no memory"),
        (["done", "done"], None, ""),
    ],
)
def test_what_did_not_end_is_said(states: list[str], kind, hint: str) -> None:
    outcomes = {
        f"run {k}": Ending(
            EndState(state), error="no memory" if state == "failed" else None
        )
        for k, state in enumerate(states)
    }
    if kind is None:
        queue.refuse_unfinished(outcomes)
        return
    with pytest.raises(kind, match=re.escape(hint)):
        queue.refuse_unfinished(outcomes)
