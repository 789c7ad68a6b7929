"""Small games that the tests of the audit share."""

from __future__ import annotations

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, SoundDPDL
from dpdl.audit import Game, honest_game
from dpdl.graph import Graph
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import threat
from dpdl.run.planner import Question

KINDS = {"dpdl": DPDL, "dpdl-sound": SoundDPDL}
EAVESDROPPER, ONE, FINAL = threat("eavesdropper"), threat("neighbours:1"), threat("final-model")
COMPLETE = graphs.complete(4)


def question(
    name: str,
    graph: Graph = COMPLETE,
    *,
    canaries: int = 1000,
    records: int | None = None,
    batch: int | None = None,
    rounds: int = 4,
    delta: float = 0.01,
    alpha: float = 1.5,
) -> Question:
    """Every record in every round, unless records and batch are given."""
    records = records or canaries
    algorithm = KINDS[name](lr=0.05, momentum=0.7, alpha=alpha)
    return Question(algorithm, graph, [records] * len(graph), batch or records, rounds, delta, canaries)


def game(q: Question, sigma: float, agent: int = 0, seed: int = 1) -> Game:
    return honest_game(q, sigma, q.size, agent, Reproducible(seed))
