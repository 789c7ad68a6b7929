"""Runs of comparisons that were never run, for tests of their table."""

from __future__ import annotations

from typing import Any

from dpdl.experiment.experiment import Experiment
from dpdl.studies.comparison_request import Comparison
from dpdl.studies.comparison_table import ComparedRun, ComparisonTable, tabulate

ASKED = Comparison({}, {}, (0, 1), equal="sigma")


def summary(
    seed: int, mean: float, worst: float, epsilon: object, rounds: int = 5
) -> dict[str, Any]:
    """The summary of a run, as far as a table reads it."""
    return {
        "seed": seed,
        "agents": 3,
        "rounds": rounds,
        "sigma": 1.0 + seed,
        "seconds": 2.0,
        "train_loss": None,
        "consensus_distance": 0.5,
        "bytes_sent": 100 + seed,
        "accuracy": {"mean": mean, "worst": worst, "best": 1.0, "average_model": mean},
        "epsilon": {
            "claimed_theorem1": None,
            "eavesdropper": epsilon,
            "neighbour": 2.0,
            "final_model": 1.0,
        },
    }


def run(
    name: str, seed: int, found: dict[str, Any] | None, error: str | None = None
) -> ComparedRun:
    """A run of 5 rounds."""
    e = Experiment(algorithm="dpdl", rounds=5, seed=seed)
    return ComparedRun(name, e, found, error)


def small_table() -> ComparisonTable:
    """Three algorithms: one stopped early, one without a proof, one that failed."""
    runs = [
        run("a", 0, summary(0, 0.5, 0.4, 3.0)),
        run("a", 1, summary(1, 0.7, 0.3, 4.0, rounds=4)),
        run("b", 0, summary(0, 0.9, 0.8, 3.0)),
        run("b", 1, summary(1, 0.7, 0.7, "unbounded")),
        run("c", 0, None, "It broke."),
    ]
    return tabulate(runs, ASKED, "c")
