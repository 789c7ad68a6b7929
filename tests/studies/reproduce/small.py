"""Cells of the paper with experiments that take a second, and results as files have them."""

from __future__ import annotations

import json
from pathlib import Path

from dpdl.experiment.experiment import Experiment
from dpdl.paper.cells import Cell
from dpdl.studies.reproduce import queue, recipes, store
from dpdl.studies.reproduce.recipes import Recipes

CELL = Cell("mnist", "ring", 10, 0.25, 0.5, "dpdl")
LONG = CELL._replace(epsilon=1.0)
ONE = "graph=ring,agents=10,alpha_d=0.25,epsilon=0.5,algorithm=dpdl"
"""The words that choose `CELL`."""
SUMMARY = {
    "accuracy": {"average_model": 0.9, "mean": 0.89, "worst": 0.8},
    "sigma": 3.0,
    "epsilon": {"eavesdropper": 2.0},
    "seconds": 12.34,
    "versions": {"dpdl": "x"},
}


def summary(accuracy: float, seconds: float = 12.34) -> dict:
    """The summary of a run with this accuracy."""
    accuracies = {**SUMMARY["accuracy"], "average_model": accuracy}
    return {**SUMMARY, "accuracy": accuracies, "seconds": seconds}


def entered(
    out: Path, cell: Cell, accuracy: float, seed: int = 0, mode: str = "as-published"
) -> dict:
    """A result with one more seed."""
    e = recipes.experiment(cell, mode, seed)
    return store.add(out, cell, mode, e, summary(accuracy), "abc")


# ------------------------------------------------------------------ runs
def small(cell: Cell, seed: int, rounds: int) -> queue.Wanted:
    """A cell of the paper, but with an experiment that takes a second."""
    e = Experiment(
        dataset="digits",
        graph="ring",
        agents=3,
        batch=8,
        noise="none",
        checkpoint_every=1,
        rounds=rounds,
        seed=seed,
    )
    return queue.Wanted(cell, "as-published", e.resolved())


def small_experiment(cell: Cell, mode: str, seed: int) -> Experiment:
    """Two rounds."""
    return small(cell, seed, 2).experiment


SMALL = Recipes(small_experiment, untuned=lambda cell, mode: False)


# ------------------------------------------------------------------ curves
def metric(t: int, loss: float | None = 1.23456, accuracy: float = 0.98765) -> dict:
    """What is measured in a round, as far as a curve has it."""
    spread = {
        "mean": loss,
        "min": None if loss is None else loss - 1,
        "max": None if loss is None else loss + 1,
    }
    return {
        "round": t,
        "train_loss": spread,
        "accuracy": {"mean": 0.1, "average_model": accuracy},
    }


METRICS = [metric(1), metric(50, 0.5)]


def left_behind(runs: Path, summary: dict) -> None:
    """The folder of a run that has ended."""
    folder = runs / queue.name_of(CELL, "as-published", 0)
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(summary))
    lines = "".join(json.dumps(one) + "\n" for one in METRICS)
    (folder / "metrics.jsonl").write_text(lines)
