"""Small games that the tests of the audit share."""

from __future__ import annotations

import math
from dataclasses import replace

from dpdl import graph as graphs
from dpdl.audit import Game, honest_game
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from dpdl.planning.build import make_algorithm
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.clip import PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import Threat, threat

EAVESDROPPER, ONE, FINAL = (
    threat("eavesdropper"),
    threat("neighbours:1"),
    threat("final-model"),
)
COMPLETE = graphs.complete(4)
NEEDED = {
    "pdsl": {"validation": 16},
    "dpdl": {"alpha": 1.5},
    "dpdl-sound": {"alpha": 1.5},
}


def question(
    name: str,
    graph: Graph = COMPLETE,
    *,
    canaries: int = 1000,
    records: int | None = None,
    batch: int | None = None,
    rounds: int = 4,
    delta: float = 0.01,
    **options: object,
) -> PrivacyModel:
    """Every record in every round, unless records and batch are given.

    `sign:` before a name compresses.
    """
    records = records or canaries
    compress, _, name = name.rpartition(":")
    words = {
        "algorithm": name,
        "dataset": "digits",
        "lr": 0.05,
        "compress": compress or "none",
    }
    algorithm = make_algorithm(
        Experiment(**(words | NEEDED.get(name, {}) | options)).resolved()
    )
    sampling = Poisson(batch or records, (records,) * len(graph))
    mechanism = Mechanism(PerSample(1.0), sampling, 0.0)
    return PrivacyModel(algorithm, graph, mechanism, rounds, delta, canaries)


def leading(q: PrivacyModel, sigma: float, listener: Threat) -> float:
    """What the exposure of agent 0 alone would prove; more is proven of no algorithm, and less of
    `dpdl` only.

    The bound of `dpdl` is for all records and all directions; in a small game, where a batch is as
    large as the model, it is far above what canaries side by side can find.
    """
    alone = Step(sigma / math.sqrt(q.exposure(0, listener)), q.batch, q.records[0])
    found = epsilon(
        [(alone, q.algorithm.disclosure.rounds(q.graph, 0, q.rounds))], q.delta
    )
    assert found <= q.with_noise(sigma).epsilon(0, listener) * (1 + 1e-9)
    return found


def game(q: PrivacyModel, sigma: float, agent: int = 0, seed: int = 1) -> Game:
    return honest_game(q.with_noise(sigma), agent, Reproducible(seed))


def with_sigma(honest: Game, sigma: float) -> Game:
    """A mutant of a game: the same adversary, another noise."""
    mechanism = honest.grad.mechanism.with_noise(sigma)
    return replace(honest, grad=replace(honest.grad, mechanism=mechanism))
