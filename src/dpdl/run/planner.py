"""What a plan costs, before anything is sent: the noise multiplier for an epsilon, and the reverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from dpdl import algorithms
from dpdl.algorithms import Algorithm
from dpdl.algorithms.compression import Compressed
from dpdl.algorithms.disclosure import Effect, Setting, exposure
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.privacy.accounting import Step, calibrate, epsilon
from dpdl.privacy.declared import largest_batch
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat
from dpdl.run.experiment import Experiment

FAILURE = 1e-7
"""The share of delta that a proof which may fail is allowed to lose in a round: a part in 10,000 over 1,000 rounds."""


@final
@dataclass(frozen=True)
class Question:
    """All that privacy depends on, except sigma and who listens."""

    algorithm: Algorithm
    graph: Graph
    records: Sequence[int] = field(repr=False)  # D_i that every agent declares
    batch: int  # B
    rounds: int  # T
    delta: float
    size: int  # d, number of parameters
    relation: str = "add-remove"
    fixed: bool = False  # fixed-size batches
    bounded: bool = True  # every record is clipped on its own

    def exposure(self, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2 of an agent, for a large sigma."""
        if not self.bounded or self.unproven:
            return math.inf
        return exposure(self.algorithm.disclosure, self.graph, agent, threat)

    def step(self, agent: int, sigma: float, threat: Threat, delta: float | None = None) -> Step:
        """One round of an agent as the accountant sees it; sigma_eff = 0 stands for no guarantee."""
        disclosure, effect = self.algorithm.disclosure, Effect(0.0)
        if self.bounded and not self.unproven:
            effect = disclosure.effect(self.graph, agent, threat, self._setting(sigma, delta or self.delta))
        records = max(self.records[agent], self.batch) if self.fixed else self.records[agent]
        return Step(effect.sigma, self.batch, records, self.fixed, effect.lost, disclosure.adaptive)

    def epsilon(
        self, agent: int, sigma: float, threat: Threat, rounds: int | None = None, delta: float | None = None
    ) -> float:
        """What an agent has given away after some rounds (all, by default); infinity when nothing bounds it."""
        count = self._count(agent, self.rounds if rounds is None else rounds)
        delta = delta or self.delta
        return epsilon([(self.step(agent, sigma, threat, delta), count)], delta, self.relation)

    def worst(self, sigma: float, threat: Threat, rounds: int | None = None) -> float:
        """The largest epsilon of all agents."""
        agents = range(len(self.graph))
        if not all(self.step(agent, sigma, threat).sigma > 0 for agent in agents):
            return math.inf
        return max(self.epsilon(agent, sigma, threat, rounds) for agent in self._undominated(threat, rounds))

    def sigma(self, target: float, threat: Threat) -> float:
        """The smallest noise multiplier that keeps every agent at or below `target`; infinity when none does."""
        disclosure, needed = self.algorithm.disclosure, [0.0]
        for agent in self._undominated(threat):
            if not math.isfinite(self.exposure(agent, threat)):
                return math.inf
            step = replace(self.step(agent, 1.0, threat), sigma=1.0)
            if rounds := self._count(agent, self.rounds):
                effective = calibrate(target, self.delta, step, rounds, self.relation)
                at = self._setting(1.0, self.delta)
                needed.append(disclosure.sigma(self.graph, agent, threat, at, effective))
        return max(needed)

    @property
    def unproven(self) -> bool:
        """Whether the algorithm has no proof for how batches are drawn.

        A proof that may fail says nothing about Rényi divergences, which is what fixed-size batches need.
        """
        return self.fixed and self.algorithm.disclosure.sized

    def _setting(self, sigma: float, delta: float) -> Setting:
        failure = FAILURE * delta
        each = failure / 4 / len(self.graph)
        sizes = [self.batch] if self.fixed else [largest_batch(self.batch, n, each) for n in set(self.records)]
        return Setting(sigma, max(sizes), self.size, failure)

    def _count(self, agent: int, rounds: int) -> int:
        return self.algorithm.disclosure.rounds(self.graph, agent, rounds)

    def _undominated(self, threat: Threat, rounds: int | None = None) -> list[int]:
        """The agents that can be the worst off: no other has fewer records, more rounds and a worse effect at once."""
        total = self.rounds if rounds is None else rounds
        counts = [self._count(agent, total) for agent in range(len(self.graph))]

        def covers(a: int, b: int) -> bool:
            more = self.records[a] <= self.records[b] and counts[a] >= counts[b]
            return more and self.algorithm.disclosure.worse(self.graph, a, b, threat)

        chosen: list[int] = []
        burdened = sorted(
            range(len(self.graph)), key=lambda i: (self.records[i], -self.exposure(i, threat), -counts[i])
        )
        for agent in burdened:
            if not any(covers(other, agent) for other in chosen):
                chosen.append(agent)
        return chosen


def make_algorithm(e: Experiment) -> Algorithm:
    """The algorithm with those of its fields that an experiment names."""
    algorithm = algorithms.named(e.algorithm)
    made = algorithm.kind(**{name: getattr(e, name) for name in e.as_dict() if name in algorithm.options})
    if e.compress == "none":
        return made
    if e.noise_split != "equal":
        raise InputError(
            f"compress {e.compress!r} and noise_split {e.noise_split!r} exclude each other; give one of them."
        )
    return Compressed(made)


def make_theorem1(e: Experiment, graph: Graph, fewest_records: int) -> Theorem1 | None:
    """Theorem 1 for this experiment; None when its algorithm is not DPDL, which is all that the theorem is about."""
    assert e.batch
    if e.alpha is None:
        return None
    return Theorem1(
        agents=len(graph),
        fewest_neighbours=int(graph.sizes.min()),
        w_min=graph.w_min,
        w_max=graph.w_max,
        fewest_records=fewest_records,
        batch_size=e.batch,
        rounds=e.rounds,
        delta=e.delta,
        alpha=e.alpha,
        c2=e.c2,
        h=e.h,
    )


def make_question(e: Experiment, algorithm: Algorithm, graph: Graph, records: list[int], size: int) -> Question:
    """All that privacy depends on, except sigma."""
    assert e.batch
    fixed = e.sampling == "fixed"
    if fixed and e.relation == "add-remove" and e.noise == "accountant" and e.sigma is None:
        raise InputError("Fixed-size batches are accounted for under replace-one only; add --relation replace-one.")
    bounded = e.clip_unit == "sample"
    return Question(algorithm, graph, records, e.batch, e.rounds, e.delta, size, e.relation, fixed, bounded)
