"""The queue: cells and seeds that are missing, the most telling first, in parallel processes.

A run that was interrupted goes on, one that is finished is never done again, and results are written as they come.
"""

from __future__ import annotations

import itertools
import json
import math
import signal
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, final

from dpdl.errors import InputError
from dpdl.graph import build
from dpdl.paper.cells import Cell
from dpdl.reproduce import recipes, results
from dpdl.run.experiment import Experiment
from dpdl.run.many import Errand, Outcome, Watch, at_once, run_many

CROSS = {"dpdl", "dpdl-sound", "dp-cga", "cga", "ngm", "pdsl"}
"""Algorithms in which an agent computes a gradient for every neighbour; the others compute one."""
GUESS: dict[tuple[str, ...], float] = {
    ("mnist", "lenet"): 30e-6,
    ("mnist", "scatter-linear"): 25e-6,
    ("cifar10", "cnn"): 600e-6,
    ("cifar10", "scatter-linear"): 70e-6,
}
"""Seconds per sample and gradient on one core, by data set and model, until something was measured here."""


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


def missing(cells: Iterable[Cell], modes: Sequence[str], seeds: int, out: Path) -> list[Wanted]:
    """What was not measured yet: all cells with the first seed, then all with the second."""
    cells = list(cells)
    found = []
    for seed in range(seeds):
        for cell in cells:
            for mode in modes:
                if recipes.has(cell, mode):
                    e = recipes.experiment(cell, mode, seed)
                    results.refuse_other(out, cell, mode, e)
                    before = results.read(out, cell, mode)
                    if not before or str(seed) not in before["runs"]:
                        found.append(Wanted(cell, mode, e))
    return found


def with_other_recipes(cells: Iterable[Cell], mode: str, out: Path) -> list[Cell]:
    """Those whose results were measured with other settings than the recipe has now."""
    known = [cell for cell in cells if recipes.has(cell, mode)]
    return [cell for cell in known if results.other_setting(out, cell, mode, recipes.experiment(cell, mode, 0))]


# ------------------------------------------------------------------ time
def work(e: Experiment) -> float:
    """Samples times gradients of a whole run."""
    assert e.batch
    return float(e.rounds * e.batch * (e.agents if _one_each(e) else _edges(e.graph, e.agents, e.weights)))


def _one_each(e: Experiment) -> bool:
    """DPDL mixes last, so that in a complete graph all models are equal and one gradient of an agent serves all."""
    return e.algorithm not in CROSS or (e.graph == "complete" and e.algorithm in ("dpdl", "dpdl-sound"))


@cache
def _edges(graph: str, agents: int, weights: str) -> int:
    return len(build(graph, agents, weights, 0).edges)


@final
@dataclass(frozen=True)
class Clock:
    """How long runs take, by what was measured before, or guessed."""

    measured: dict[tuple[str, ...], float]  # what a run has in common with others -> seconds per unit of work

    def seconds(self, e: Experiment) -> float:
        """For one run on one core, by those that have most in common with it."""
        known = (table[key] for table in (self.measured, GUESS) for key in _likeness(e) if key in table)
        return work(e) * next(known, GUESS["mnist", "lenet"])


def _likeness(e: Experiment) -> list[tuple[str, ...]]:
    """What runs of about the same speed have in common, most first."""
    every = (e.dataset, e.model or "", e.algorithm, e.graph)
    return [every[:count] for count in (4, 3, 2)]


def clock_of(out: Path) -> Clock:
    """From all results there are."""
    found: dict[tuple[str, ...], list[float]] = {}
    for path in sorted(out.glob("*/*.json")):
        try:
            result = json.loads(path.read_text("utf-8"))
        except ValueError:  # who needs it says so
            continue
        if isinstance(result, dict) and result.get("format") == results.FORMAT and "runs" in result:
            e = Experiment(**result["settings"])
            speeds = [run["seconds"] / work(e) for run in result["runs"].values()]
            for key in _likeness(e):
                found.setdefault(key, []).extend(speeds)
    return Clock({key: statistics.median(values) for key, values in found.items()})


def within(wanted: Sequence[Wanted], clock: Clock, jobs: int, minutes: float | None) -> list[Wanted]:
    """Those that should be done in time, in their order; a smaller one may fit where a larger one does not."""
    return fitting(wanted, [clock.seconds(one.experiment) for one in wanted], jobs, minutes)


Item = TypeVar("Item")


def fitting(items: Sequence[Item], seconds: Sequence[float], jobs: int, minutes: float | None) -> list[Item]:
    """The same for whatever takes so many seconds each, `jobs` at a time."""
    if minutes is None:
        return list(items)
    left, chosen = minutes * 60 * jobs, []
    for one, time_of_it in zip(items, seconds, strict=True):
        if time_of_it <= min(left, minutes * 60):
            chosen.append(one)
            left -= time_of_it
    if items and not chosen:
        least = min(seconds) / 60
        raise InputError(f"{minutes:g} minutes are too few for one cell: the shortest should take {least:.1f}.")
    return chosen


# ------------------------------------------------------------------ running
def perform(
    wanted: Sequence[Wanted], out: Path, runs: Path, jobs: int | None, minutes: float | None, watch: Watch
) -> dict[str, Outcome]:
    """Run them, and write each result as soon as it is there."""
    by_name = {one.name: one for one in wanted}
    deadline = math.inf if minutes is None else time.monotonic() + minutes * 60
    for one in wanted:
        if _finished(one, runs):  # it ended when nobody listened
            _enter(one, out, runs)

    def heard(name: str, news: dict[str, Any]) -> None:
        nonlocal deadline
        if news.get("state") == "done":
            _enter(by_name[name], out, runs)
        watch(name, news)
        if time.monotonic() > deadline:
            deadline = math.inf
            signal.raise_signal(signal.SIGINT)  # as if a person had asked: states are saved

    todo = [Errand(runs / one.name, one.experiment) for one in wanted if not _finished(one, runs)]
    return run_many(todo, at_once(jobs, len(todo)), heard)


def _finished(one: Wanted, runs: Path) -> bool:
    return (runs / one.name / "summary.json").exists()


def _enter(one: Wanted, out: Path, runs: Path) -> None:
    results.add(out, one.cell, one.mode, one.experiment, *_told(runs / one.name))


def _told(folder: Path) -> tuple[dict[str, Any], str | None, list[dict[str, Any]]]:
    """What a finished run leaves: summary, commit, metrics."""
    from dpdl.run.store import RunFolder  # not above: a status should not wait for torch

    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    return summary, _commit(), RunFolder(folder).metrics()


def recall_curves(cells: Iterable[Cell], modes: Sequence[str], out: Path, runs: Path) -> None:
    """Enter curves into results from before they were kept, where the run folders are still there."""
    for cell, mode in itertools.product(cells, modes):
        for seed, run in (results.read(out, cell, mode) or {"runs": {}})["runs"].items():
            folder = runs / name_of(cell, mode, seed)
            if "curve" not in run and (folder / "summary.json").exists():
                summary, _, metrics = _told(folder)
                results.add_curve(out, cell, mode, seed, summary, metrics)


@cache
def _commit() -> str | None:
    """The commit that this code is from, if it runs from a checkout."""
    try:
        here = Path(__file__).parent
        found = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()
