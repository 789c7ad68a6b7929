"""What a plan costs, before anything is sent: noise for a budget, and the budget of a noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from dpdl.algorithms import Algorithm
from dpdl.graph import Graph
from dpdl.privacy.accounting import Step, calibrate, epsilon
from dpdl.privacy.threats import Threat


@final
@dataclass(frozen=True)
class Question:
    """All that privacy depends on, except sigma and who listens."""

    algorithm: Algorithm
    graph: Graph
    records: Sequence[int]  # D_i of every agent
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
            self._exposures[key] = self.algorithm.exposure(self.graph, agent, threat)
        return self._exposures[key]

    def step(self, agent: int, sigma: float, threat: Threat) -> Step:
        """One round of an agent as the accountant sees it; sigma_eff = 0 stands for no guarantee."""
        least = self.algorithm.least_noise(self.graph, agent, self.batch, self.size)
        ratio = self.exposure(agent, threat) if sigma > least else math.inf
        return Step(
            sigma / math.sqrt(ratio) if math.isfinite(ratio) else 0.0, self.batch, self.records[agent], self.fixed
        )

    def epsilon(
        self, agent: int, sigma: float, threat: Threat, rounds: int | None = None, delta: float | None = None
    ) -> float:
        """What an agent has given away after some rounds (all, by default); infinity when nothing bounds it."""
        count = self.rounds if rounds is None else rounds
        return epsilon([(self.step(agent, sigma, threat), count)], delta or self.delta, self.relation)

    def worst(self, sigma: float, threat: Threat, rounds: int | None = None) -> float:
        """The largest epsilon of all agents."""
        if sigma <= self._least_noise():
            return math.inf
        return max(self.epsilon(agent, sigma, threat, rounds) for agent in self._undominated(threat))

    def sigma(self, target: float, threat: Threat) -> float:
        """The smallest noise multiplier that keeps every agent at or below `target`; infinity when none does."""
        needed = []
        for agent in self._undominated(threat):
            ratio = self.exposure(agent, threat)
            if not math.isfinite(ratio):
                return math.inf
            step = Step(1.0, self.batch, self.records[agent], self.fixed)
            needed.append(calibrate(target, self.delta, step, self.rounds, self.relation) * math.sqrt(ratio))
        return max(*needed, self._least_noise() * 1.001)

    def _least_noise(self) -> float:
        """The noise multiplier above which all agents have a proof."""
        agents = range(len(self.graph))
        return max(self.algorithm.least_noise(self.graph, agent, self.batch, self.size) for agent in agents)

    def _undominated(self, threat: Threat) -> list[int]:
        """The agents that can be the worst off: no other has both fewer records and more exposure."""
        agents = sorted(range(len(self.graph)), key=lambda i: (self.records[i], -self.exposure(i, threat)))
        chosen: list[int] = []
        for agent in agents:
            if not chosen or self.exposure(agent, threat) > self.exposure(chosen[-1], threat):
                chosen.append(agent)
        return chosen
