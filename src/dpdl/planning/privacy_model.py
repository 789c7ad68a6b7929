"""What a plan costs, before anything is sent: epsilon, and the noise that an epsilon needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from dpdl.algorithms.base import Algorithm
from dpdl.algorithms.disclosure import Setting, exposure
from dpdl.errors import InputError, PrivacyRefused
from dpdl.graph import Graph
from dpdl.planning.calibrations import calibrated
from dpdl.privacy.accounting import Beside, Effect, Step, epsilon
from dpdl.privacy.clip import PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import DEFAULT_THREATS, Threat

FAILURE = 1e-7
"""The share of delta that a proof which may fail can lose in a round: 1e-4 in 1,000 rounds."""


@final
@dataclass(frozen=True)
class PrivacyModel:
    """All that privacy depends on, except who listens."""

    algorithm: Algorithm
    graph: Graph
    mechanism: Mechanism
    rounds: int  # T
    delta: float
    size: int  # d, number of parameters
    relation: str = "add-remove"
    centre: Mechanism | None = (
        None  # of what all records release before the first round
    )
    centres: int = 1  # how often that left: a crash may make it leave again

    def __post_init__(self) -> None:
        if self.mechanism.sampling.fixed and self.relation == "add-remove":
            raise InputError(
                "Fixed-size batches are accounted for under replace-one only; add --relation "
                "replace-one."
            )
        if len(self.mechanism.declared) != len(self.graph):
            raise InputError(
                f"{len(self.mechanism.declared)} numbers of records cannot be those of "
                f"{len(self.graph)} agents."
            )

    def __repr__(self) -> str:
        what = f"{type(self.algorithm).__name__}, {len(self.graph)} agents"
        return f"PrivacyModel({what}, sigma {self.sigma:.4g}, {self.rounds} rounds)"

    @property
    def sigma(self) -> float:
        """The noise multiplier of one answer."""
        return self.mechanism.noise_multiplier

    @property
    def records(self) -> tuple[int, ...]:
        """D_i, as every agent declares it."""
        return self.mechanism.declared

    @property
    def batch(self) -> int:
        """B."""
        return self.mechanism.batch_size

    def with_noise(self, sigma: float) -> PrivacyModel:
        """The same with another noise multiplier."""
        return self.with_mechanism(self.mechanism.with_noise(sigma))

    def with_mechanism(self, mechanism: Mechanism) -> PrivacyModel:
        """The same with another mechanism; one with fixed-size batches is about replace-one."""
        relation = "replace-one" if mechanism.sampling.fixed else self.relation
        return replace(self, mechanism=mechanism, relation=relation)

    def check_secure(self, bytes_each: int) -> None:
        """Refuse secure randomness where the noise of links would have no proof.

        `bytes_each` is 4 or 8: entries of a row are float32 or float64.
        """
        link = self.algorithm.link_noise(self.graph)
        if link is None or not link.factor:
            return
        from dpdl.privacy.link_noise import check_link_noise

        if not link.alone:
            raise InputError(
                "Secure noise of links is added to perturbed gradients and to nothing else; "
                "weight_decay must be 0."
            )
        for one in filter(None, (self.mechanism, self.centre)):
            check_link_noise(one, link.factor, link.most, bytes_each, link.least)

    def listeners(self, asked: Threat) -> list[Threat]:
        """Those against whom a run says something; `asked` is the threat of its experiment."""
        coalitions = self.algorithm.conspirators(self.graph)
        more = [Threat("neighbours", k) for k in coalitions]
        return list(dict.fromkeys([*DEFAULT_THREATS, *more, asked]))

    @property
    def unproven(self) -> bool:
        """Whether the algorithm has no proof for how batches are drawn.

        A proof that may fail says nothing about Rényi divergences, which is what fixed-size batches
        need.
        """
        return self.mechanism.sampling.fixed and self.algorithm.disclosure.sized

    # ------------------------------------------------------------------ the centre of features
    def with_centre(self, effective: float, threat: Threat) -> PrivacyModel:
        """The same with a centre whose release has at least this effective noise multiplier.

        It is a round in which every record takes part, so the algorithm hides it as well as one.
        """
        if not self.algorithm.agrees:
            raise InputError(
                "centre 'private' needs an algorithm whose agents agree on a mean, such as "
                "concord."
            )
        everybody = Poisson.at_rate(1.0, self.records)
        unit = self._about(Mechanism(PerSample(1.0), everybody, 1.0))
        disclosure, at = self.algorithm.disclosure, unit._setting(self.delta)
        own = max(
            disclosure.sigma(self.graph, agent, threat, at, effective)
            for agent in range(len(self.graph))
        )
        if not math.isfinite(own):
            raise PrivacyRefused(
                f"No noise hides a centre from {threat}: nothing is proven for one round."
            )
        return replace(self, centre=Mechanism(PerSample(1.0), everybody, own))

    def _about(self, mechanism: Mechanism) -> PrivacyModel:
        """The same algorithm and graph with one mechanism and nothing beside it."""
        return replace(self, mechanism=mechanism, centre=None)

    def beside(self, agent: int, threat: Threat, delta: float | None = None) -> Beside:
        """What an agent releases beside its rounds, as the accountant sees it."""
        if self.centre is None:
            return ()
        return ((self._about(self.centre).step(agent, threat, delta), self.centres),)

    def exposure(self, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2 of an agent, for a large sigma; infinity: nothing is proven."""
        if not self.mechanism.bounds_record or self.unproven:
            return math.inf
        return exposure(self.algorithm.disclosure, self.graph, agent, threat)

    def step(self, agent: int, threat: Threat, delta: float | None = None) -> Step:
        """One round of an agent as the accountant sees it; sigma_eff 0 stands for no guarantee."""
        disclosure, effect = self.algorithm.disclosure, Effect(0.0)
        if self.mechanism.bounds_record and not self.unproven:
            setting = self._setting(delta or self.delta)
            effect = disclosure.effect(self.graph, agent, threat, setting)
        return self.mechanism.step(agent, effect, disclosure.adaptive)

    def epsilon(
        self,
        agent: int,
        threat: Threat,
        rounds: int | None = None,
        delta: float | None = None,
    ) -> float:
        """What an agent has given away after some rounds (default: all); infinity: unbounded."""
        count = self._count(agent, self.rounds if rounds is None else rounds)
        delta = delta or self.delta
        rounds_of = (self.step(agent, threat, delta), count)
        others = self.beside(agent, threat, delta)
        return epsilon([rounds_of, *others], delta, self.relation)

    def worst(self, threat: Threat, rounds: int | None = None) -> float:
        """The largest epsilon of all agents."""
        agents = range(len(self.graph))
        if not all(self.step(agent, threat).sigma > 0 for agent in agents):
            return math.inf
        chosen = self._undominated(threat, rounds)
        return max(self.epsilon(agent, threat, rounds) for agent in chosen)

    def needed_sigma(self, target: float, threat: Threat) -> float:
        """The smallest noise multiplier that keeps every agent at or below `target`.

        Infinity when none does. The noise that the mechanism has now does not matter.
        """
        unit = self.with_noise(1.0)
        disclosure, needed = self.algorithm.disclosure, [0.0]
        for agent in self._undominated(threat):
            if not math.isfinite(self.exposure(agent, threat)):
                return math.inf
            lost = unit.step(agent, threat).lost
            step = unit.mechanism.step(agent, Effect(1.0, lost), disclosure.adaptive)
            if rounds := self._count(agent, self.rounds):
                others = self.beside(agent, threat)
                if others and epsilon(others, self.delta, self.relation) >= target:
                    return math.inf
                effective = calibrated(
                    target, self.delta, step, rounds, self.relation, others
                )
                at = unit._setting(self.delta)
                found = disclosure.sigma(self.graph, agent, threat, at, effective)
                needed.append(found)
        return max(needed)

    def _setting(self, delta: float) -> Setting:
        failure = FAILURE * delta
        largest = self.mechanism.largest_batch(failure / 4 / len(self.graph))
        return Setting(self.sigma, largest, self.size, failure)

    def _count(self, agent: int, rounds: int) -> int:
        return self.algorithm.disclosure.rounds(self.graph, agent, rounds)

    def _undominated(self, threat: Threat, rounds: int | None = None) -> list[int]:
        """The agents that can be the worst off.

        No other has fewer records, more rounds and a worse effect at once.
        """
        total = self.rounds if rounds is None else rounds
        agents = range(len(self.graph))
        counts = [self._count(agent, total) for agent in agents]
        records, disclosure = self.records, self.algorithm.disclosure

        def covers(a: int, b: int) -> bool:
            more = records[a] <= records[b] and counts[a] >= counts[b]
            return more and disclosure.worse(self.graph, a, b, threat)

        def burden(agent: int) -> tuple[float, float, float]:
            return records[agent], -self.exposure(agent, threat), -counts[agent]

        chosen: list[int] = []
        for agent in sorted(agents, key=burden):
            if not any(covers(other, agent) for other in chosen):
                chosen.append(agent)
        return chosen
