"""Runs of comparisons that were never run, for tests of their table."""

from __future__ import annotations

from dpdl.experiment.experiment import Experiment
from dpdl.folder.scored import AgentScores
from dpdl.folder.summary import Summary
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.studies.comparison_request import Comparison
from dpdl.studies.comparison_table import ComparedRun, ComparisonTable, tabulate
from tests.folder import measured

ASKED = Comparison({}, {}, (0, 1), equal="sigma")


def summary(
    seed: int,
    mean: float,
    worst: float,
    epsilon: Epsilon,
    rounds: int = 5,
    score: str = "accuracy",
) -> Summary:
    """The summary of a run."""
    proven = {
        "eavesdropper": epsilon,
        "neighbour": Epsilon(2.0),
        "final_model": Epsilon(1.0),
    }
    return measured.summary(
        seed=seed,
        agents=3,
        rounds=rounds,
        sigma=1.0 + seed,
        seconds=2.0,
        train_loss=None,
        consensus_distance=0.5,
        bytes_sent=100 + seed,
        score=AgentScores(score, mean, worst, 1.0, mean),
        epsilon=Epsilons(proven=proven),
    )


def run(
    name: str, seed: int, found: Summary | None, error: str | None = None
) -> ComparedRun:
    """A run of 5 rounds."""
    e = Experiment(algorithm="dpdl", rounds=5, seed=seed)
    return ComparedRun(name, e, found, error)


def small_table() -> ComparisonTable:
    """Three algorithms: one stopped early, one without a proof, one that failed."""
    runs = [
        run("a", 0, summary(0, 0.5, 0.4, Epsilon(3.0))),
        run("a", 1, summary(1, 0.7, 0.3, Epsilon(4.0), rounds=4)),
        run("b", 0, summary(0, 0.9, 0.8, Epsilon(3.0))),
        run("b", 1, summary(1, 0.7, 0.7, UNBOUNDED)),
        run("c", 0, None, "It broke."),
    ]
    return tabulate(runs, ASKED, "c")
