"""Cells of the paper with experiments that take a second, and results as files have them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dpdl.experiment.experiment import Experiment
from dpdl.folder.cell_results import CellResult, Curve, SeedResult
from dpdl.folder.metrics import AgentLosses, Metrics
from dpdl.folder.scored import AgentScores
from dpdl.paper.cells import Cell
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.studies.reproduce import cell_store, queue, recipes
from dpdl.studies.reproduce.recipes import Recipes
from tests.folder.measured import metrics, scores, summary

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
    epsilon={"claimed_theorem1": UNKNOWN, "eavesdropper": Epsilon(2.0)},
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
SUMMARY = summary(
    sigma=3.0,
    score=AgentScores("accuracy", mean=0.89, worst=0.8, best=0.95, average_model=0.9),
    epsilon=Epsilons(proven={"eavesdropper": Epsilon(2.0)}),
    seconds=12.34,
    versions={"dpdl": "x"},
)
"""What the run of `RUN` wrote at its end."""


def metric(t: int, loss: float | None = 1.23456, accuracy: float = 0.98765) -> Metrics:
    """What a run measures in a round."""
    low, high = (None, None) if loss is None else (loss - 1, loss + 1)
    return replace(
        metrics(t),
        train_loss=AgentLosses(loss, low, high),
        score=replace(scores(0.5), average_model=accuracy),
    )


def left_behind(runs: Path, **changed: object) -> Path:
    """The folder of a run of `CELL` that has ended; its curve is `CURVE`."""
    folder = runs / queue.run_name(CELL, "as-published", 0)
    folder.mkdir(parents=True)
    written = replace(SUMMARY, **changed).to_json()
    (folder / "summary.json").write_text(json.dumps(written))
    lines = [json.dumps(one.to_json()) for one in (metric(1), metric(50, 0.5))]
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder
