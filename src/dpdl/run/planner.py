"""What a plan costs, before anything is sent: noise for a budget, and the budget of a noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from dpdl import algorithms
from dpdl.algorithms import Algorithm
from dpdl.algorithms.compression import Compressed
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.privacy.accounting import Step, calibrate, epsilon
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat
from dpdl.run.experiment import Experiment


@final
@dataclass(frozen=True)
class Question:
    """All that privacy depends on, except sigma and who listens."""

    algorithm: Algorithm
    graph: Graph
    records: Sequence[int] = field(repr=False)  # D_i of every agent
    batch: int  # B
    rounds: int  # T
    delta: float
    size: int  # d, number of parameters
    relation: str = "add-remove"
    fixed: bool = False  # fixed-size batches
    bounded: bool = True  # every record is clipped on its own
    _exposures: dict[tuple[int, Threat], float] = field(default_factory=dict, init=False, compare=False, repr=False)

    def exposure(self, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2 of an agent."""
        if not self.bounded:
            return math.inf
        key = agent, threat
        if key not in self._exposures:
            self._exposures[key] = self.algorithm.disclosure.exposure(self.graph, agent, threat)
        return self._exposures[key]

    def step(self, agent: int, sigma: float, threat: Threat) -> Step:
        """One round of an agent as the accountant sees it; sigma_eff = 0 stands for no guarantee."""
        least = self.algorithm.disclosure.least_noise(self.graph, agent, self.batch, self.size)
        ratio = self.exposure(agent, threat) if sigma > least else math.inf
        return Step(
            sigma / math.sqrt(ratio) if math.isfinite(ratio) else 0.0, self.batch, self.records[agent], self.fixed
        )

    def epsilon(
        self, agent: int, sigma: float, threat: Threat, rounds: int | None = None, delta: float | None = None
    ) -> float:
        """What an agent has given away after some rounds (all, by default); infinity when nothing bounds it."""
        count = self._count(agent, self.rounds if rounds is None else rounds)
        return epsilon([(self.step(agent, sigma, threat), count)], delta or self.delta, self.relation)

    def worst(self, sigma: float, threat: Threat, rounds: int | None = None) -> float:
        """The largest epsilon of all agents."""
        if sigma <= self._least_noise():
            return math.inf
        return max(self.epsilon(agent, sigma, threat, rounds) for agent in self._undominated(threat, rounds))

    def sigma(self, target: float, threat: Threat) -> float:
        """The smallest noise multiplier that keeps every agent at or below `target`; infinity when none does."""
        needed = []
        for agent in self._undominated(threat):
            ratio = self.exposure(agent, threat)
            if not math.isfinite(ratio):
                return math.inf
            step = Step(1.0, self.batch, self.records[agent], self.fixed)
            if rounds := self._count(agent, self.rounds):
                needed.append(calibrate(target, self.delta, step, rounds, self.relation) * math.sqrt(ratio))
        return max(*needed, self._least_noise() * 1.001)

    def _least_noise(self) -> float:
        """The noise multiplier above which all agents have a proof."""
        agents = range(len(self.graph))
        return max(self.algorithm.disclosure.least_noise(self.graph, agent, self.batch, self.size) for agent in agents)

    def _count(self, agent: int, rounds: int) -> int:
        return self.algorithm.disclosure.rounds(self.graph, agent, rounds)

    def _undominated(self, threat: Threat, rounds: int | None = None) -> list[int]:
        """The agents that can be the worst off: no other has fewer records, more exposure and more rounds at once."""

        def burden(agent: int) -> tuple[float, float, int]:
            return (
                -self.records[agent],
                self.exposure(agent, threat),
                self._count(agent, self.rounds if rounds is None else rounds),
            )

        agents = {burden(agent): agent for agent in reversed(range(len(self.graph)))}
        chosen: list[tuple[float, float, int]] = []
        for one in sorted(agents, reverse=True):
            if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in chosen):
                chosen.append(one)
        return [agents[one] for one in chosen]


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
