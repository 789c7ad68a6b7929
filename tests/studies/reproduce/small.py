"""Cells of the paper with experiments that take a second, and results as files have them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dpdl.experiment.experiment import Experiment
from dpdl.folder.cell_results import CellResult, Curve, SeedResult
from dpdl.paper.cells import Cell
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.reproduce import cell_store, queue, recipes
from dpdl.studies.reproduce.recipes import Recipes

CELL = Cell("mnist", "ring", 10, 0.25, 0.5, "dpdl")
LONG = CELL._replace(epsilon=1.0)
ONE = "graph=ring,agents=10,alpha_d=0.25,epsilon=0.5,algorithm=dpdl"
"""The text that selects `CELL`."""
CURVE = Curve((1, 50), (1.2346, 0.5), (0.2346, -0.5), (2.2346, 1.5), (98.77, 98.77))
RUN = SeedResult(
    accuracy=90.0,
    agents_mean=89.0,
    agents_worst=80.0,
    sigma=3.0,
    epsilon={"eavesdropper": Epsilon(2.0)},
    seconds=12.3,
    versions={"dpdl": "x"},
    commit="abc",
)
"""Without a curve, as results had none in the beginning."""


def entered(
    out: Path,
    cell: Cell,
    accuracy: float = 90.0,
    seed: int = 0,
    mode: str = "as-published",
    curve: Curve | None = None,
    seconds: float = 12.3,
) -> CellResult:
    """A result with one more seed."""
    e = recipes.experiment(cell, mode, seed)
    run = replace(RUN, accuracy=accuracy, curve=curve, seconds=seconds)
    return cell_store.add(out, cell, mode, e, run)


# ------------------------------------------------------------------ runs
def small(cell: Cell, seed: int, rounds: int) -> queue.CellRun:
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
    return queue.CellRun(cell, "as-published", e.resolved())


def small_experiment(cell: Cell, mode: str, seed: int) -> Experiment:
    """Two rounds."""
    return small(cell, seed, 2).experiment


SMALL = Recipes(small_experiment, untuned=lambda cell, mode: False)


# ------------------------------------------------------------------ run folders
SUMMARY = {
    "algorithm": "dpdl",
    "dataset": "mnist",
    "graph": "ring",
    "agents": 10,
    "rounds": 50,
    "seed": 0,
    "parameters": 44426,
    "sigma": 3.0,
    "delta": 1e-5,
    "accuracy": {"mean": 0.89, "worst": 0.8, "best": 0.95, "average_model": 0.9},
    "train_loss": 0.5,
    "consensus_distance": 0.1,
    "epsilon": {"eavesdropper": 2.0},
    "epsilon_note": "",
    "privacy_statement": "",
    "bytes_sent": 1000,
    "seconds": 12.34,
    "versions": {"dpdl": "x"},
}
"""What the run of `RUN` wrote at its end."""


def metric(t: int, loss: float | None = 1.23456, accuracy: float = 0.98765) -> dict:
    """What a run writes about a round."""
    low, high = (None, None) if loss is None else (loss - 1, loss + 1)
    return {
        "round": t,
        "train_loss": {"mean": loss, "min": low, "max": high},
        "accuracy": {"mean": 0.1, "worst": 0, "best": 1, "average_model": accuracy},
        "consensus_distance": 0.1,
        "epsilon": 2.0,
        "bytes_sent": 1000,
        "seconds": 1.0,
    }


def left_behind(runs: Path, **changed: object) -> Path:
    """The folder of a run of `CELL` that has ended; its curve is `CURVE`."""
    folder = runs / queue.name_of(CELL, "as-published", 0)
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({**SUMMARY, **changed}))
    lines = [json.dumps(metric(1)), json.dumps(metric(50, 0.5))]
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder
