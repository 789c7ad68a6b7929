"""How long runs take, and which of them fit into some minutes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar, final

from dpdl import algorithms
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.folder.cell_results import CellResult, is_result
from dpdl.foreign import read_json
from dpdl.graph import build
from dpdl.tasks.data import class_counts

Likeness = tuple[str, ...]
"""What a run has in common with others: data set, model, algorithm, graph, or the first of them."""
GUESS: dict[Likeness, float] = {
    ("mnist", "lenet"): 30e-6,
    ("mnist", "scatter-linear"): 25e-6,
    ("cifar10", "cnn"): 600e-6,
    ("cifar10", "scatter-linear"): 70e-6,
}
"""Seconds per sample and gradient on one core, until something was measured here."""
Item = TypeVar("Item")


@final
@dataclass(frozen=True)
class RunTimes:
    """How long runs take, by what was measured before, or guessed."""

    measured: Mapping[Likeness, float]  # seconds per unit of work

    def seconds(self, e: Experiment) -> float:
        """For one run on one core, by those that have most in common with it."""
        known = (
            table[key]
            for table in (self.measured, GUESS)
            for key in _likeness(e)
            if key in table
        )
        return work(e) * next(known, GUESS["mnist", "lenet"])


def run_times(out: Path) -> RunTimes:
    """From all results there are."""
    found: dict[Likeness, list[float]] = {}
    for path in sorted(out.glob("*/*.json")):
        result = _result(path)
        if result is None:
            continue
        e = from_mapping(result.settings)
        speeds = [run.seconds / work(e) for run in result.runs.values()]
        for key in _likeness(e):
            found.setdefault(key, []).extend(speeds)
    return RunTimes({key: statistics.median(times) for key, times in found.items()})


def _result(path: Path) -> CellResult | None:
    """The result of a cell; None for any other file, which is refused where it is needed."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    known = isinstance(content, dict) and "runs" in content
    if not known or not is_result(content):
        return None
    return CellResult.from_json(content, f"Result {str(path)!r}")


def fitting(
    items: Sequence[Item], seconds: Sequence[float], jobs: int, minutes: float | None
) -> list[Item]:
    """Those that should be done in time, `jobs` at a time, in their order.

    A smaller one may fit where a larger one does not.
    """
    if minutes is None:
        return list(items)
    left, chosen = minutes * 60 * jobs, []
    for one, time_of_it in zip(items, seconds, strict=True):
        if time_of_it <= min(left, minutes * 60):
            chosen.append(one)
            left -= time_of_it
    if items and not chosen:
        least = min(seconds) / 60
        raise InputError(
            f"{minutes:g} minutes are too few for one cell: the shortest should take "
            f"{least:.1f}."
        )
    return chosen


def work(e: Experiment) -> float:
    """Samples times gradients of a whole run."""
    batch = _batch(e)
    gradients = e.agents if _one_each(e) else _edges(e.graph, e.agents, e.weights)
    return float(e.rounds * batch * gradients)


def _batch(e: Experiment) -> float:
    """B; an old file may leave it to the default, and a rate to the records."""
    if e.rate is None or e.batch:
        return e.batch or e.resolved().batch or 1
    return e.rate * sum(class_counts(e.dataset) or (1,)) / e.agents


def _one_each(e: Experiment) -> bool:
    """Whether one gradient of an agent serves all: nobody else asks, or all models are equal."""
    kind = algorithms.named(e.algorithm).kind
    return not kind.answers_neighbours or (e.graph == "complete" and kind.mixes_last)


@cache
def _edges(graph: str, agents: int, weights: str) -> int:
    return len(build(graph, agents, weights, 0).edges)


def _likeness(e: Experiment) -> list[Likeness]:
    """What runs of about the same speed have in common, most first."""
    every = (e.dataset, e.model or "", e.algorithm, e.graph)
    return [every[:count] for count in (4, 3, 2)]
