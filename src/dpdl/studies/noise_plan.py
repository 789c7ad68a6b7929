"""What `dpdl privacy sigma` and `dpdl privacy epsilon` compute, before any data are touched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from dpdl.algorithms import name_of
from dpdl.bounds import count, real
from dpdl.errors import InputError
from dpdl.experiment.experiment import from_mapping
from dpdl.graph import build
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.declared import parse
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat, threat
from dpdl.records import Record

CLAIMS = ("theorem1", "theorem1_appendix")
"""What Theorem 1 claims, and the last formula of its appendix."""
STEEP = 100.0
"""Epsilon of one round from which steps are seen in the curve of all."""
POINTS = 24
"""Of a picture of epsilon over rounds."""
Multiplier = float | Literal["unbounded"] | None
"""A noise multiplier; unbounded: no noise is enough; None: Theorem 1 is not about the algorithm."""


@final
@dataclass(frozen=True)
class SigmaTable(Record):
    """What `dpdl privacy sigma` prints: the noise that a target epsilon needs."""

    sigma: Mapping[str, Multiplier]  # by claim, and by threat
    sigma_eff: Mapping[str, Multiplier]  # the smallest of all agents, by threat
    notes: tuple[str, ...]


@final
@dataclass(frozen=True)
class EpsilonTable(Record):
    """What `dpdl privacy epsilon` prints: what a noise multiplier proves."""

    epsilon: Mapping[str, Epsilon]  # by claim, and by threat
    per_agent: Mapping[str, tuple[Epsilon, ...]]  # by threat
    notes: tuple[str, ...]


@final
@dataclass(frozen=True)
class NoisePlan:
    """All that privacy depends on, except the noise."""

    model: PrivacyModel
    theorem1: Theorem1 | None  # None: it is not about the algorithm
    listeners: list[Threat]  # the experiment's threat is the last
    c1: float = 1.0  # the constant c_1 of Theorem 1

    def sigmas(self, epsilon: float) -> SigmaTable:
        """The noise multiplier that a target needs, for every threat model."""
        needed = {t: self.model.needed_sigma(epsilon, t) for t in self.listeners}
        claims: list[float | None] = [None, None]
        if self.theorem1:
            appendix = self.theorem1.appendix_sigma(epsilon)
            claims = [self.theorem1.sigma(epsilon), appendix]
        claimed = dict(zip(CLAIMS, claims, strict=True))
        proven = {t.key: sigma for t, sigma in needed.items()}
        effective = {t.key: self._effective(sigma, t) for t, sigma in needed.items()}
        return SigmaTable(
            sigma={name: _multiplier(one) for name, one in (claimed | proven).items()},
            sigma_eff={name: _multiplier(one) for name, one in effective.items()},
            notes=self.notes(epsilon),
        )

    def epsilons(self, sigma: float) -> EpsilonTable:
        """What a noise multiplier proves, for every threat model and every agent."""
        noisy, agents = self.model.with_noise(sigma), range(len(self.model.graph))
        claims = [UNKNOWN, UNKNOWN]
        if self.theorem1:
            appendix = self.theorem1.appendix_sigma(1.0) / sigma
            claims = [Epsilon(self.theorem1.epsilon(sigma)), Epsilon(appendix)]
        claimed = dict(zip(CLAIMS, claims, strict=True))
        worst = {t.key: Epsilon(noisy.worst(t)) for t in self.listeners}
        target = claims[0].value
        return EpsilonTable(
            epsilon={**claimed, **worst},
            per_agent={
                t.key: tuple(Epsilon(noisy.epsilon(i, t)) for i in agents)
                for t in self.listeners
            },
            notes=self.notes(math.nan if target is None else target),
        )

    def needed_sigma(self, epsilon: float) -> float:
        """The noise multiplier that a target needs against the experiment's threat."""
        return self.model.needed_sigma(epsilon, self.listeners[-1])

    def notes(self, target: float) -> tuple[str, ...]:
        """What a person must know to read the numbers."""
        model = self.model
        rate = max(map(model.mechanism.sampling.rate, range(len(model.records))))
        found = [
            f"One record is {CHANGES[model.relation]} in one agent's data; it takes part "
            f"in a round with probability up to {rate:.4g}. The numbers of records are "
            "declared constants."
        ]
        if not model.mechanism.bounds_record:
            found.append(
                "Only clip_unit 'sample' bounds what a record can do: no guarantee "
                "otherwise."
            )
        if model.mechanism.sampling.fixed:
            found.append(
                "Fixed-size batches are accounted for by Rényi DP, which is loose."
            )
        if sentence := model.algorithm.attainable(model.graph):
            found.append(sentence)
        if self.theorem1 is None:
            return (*found, "Theorem 1 is not about this algorithm.")
        return (*found, *self.theorem1.complaints(target, self.c1))

    def draw(self, sigma: float, path: Path) -> Path:
        """Draw epsilon over the rounds, proven and claimed, for a noise multiplier."""
        from dpdl.pages.epsilon_curves import EpsilonCurves, draw_epsilon

        model = self.model.with_noise(sigma)
        rounds = sorted(
            {max(1, model.rounds * k // POINTS) for k in range(1, POINTS + 1)}
        )
        curves = {str(t): [model.worst(t, r) for r in rounds] for t in self.listeners}
        finite = {
            name: values
            for name, values in curves.items()
            if all(map(math.isfinite, values))
        }
        claimed: list[float] = []
        if self.theorem1:
            whole = self.theorem1.epsilon(sigma)
            claimed = [whole * math.sqrt(r / model.rounds) for r in rounds]
        place = f"{model.graph.name} of {len(model.graph)} agents"
        title = f"Epsilon over rounds: {name_of(type(model.algorithm))}, {place}"
        detail = f"Noise multiplier {sigma:.4g}, delta {model.delta:g}, worst agent."
        if missing := [name for name in curves if name not in finite]:
            detail += f" Nothing is proven against: {', '.join(missing)}."
        detail += self._why_steps(sigma)
        return draw_epsilon(EpsilonCurves(rounds, finite, claimed), path, title, detail)

    def _why_steps(self, sigma: float) -> str:
        """Why a curve climbs in steps, where that is seen.

        A record takes part in a whole number of rounds, and each of them costs about
        1 / (2 sigma_eff^2). Many rounds of little cost are a smooth curve.
        """
        effective = self._effective(sigma, self.listeners[-1])
        rates = map(self.model.mechanism.sampling.rate, range(len(self.model.records)))
        if max(rates) >= 1 or not effective > 0:
            return ""
        cost = 1 / (2 * effective**2)
        if cost < STEEP:
            return ""
        return (
            f" Steps: every round that a record takes part in costs about {cost:,.0f}."
        )

    def _effective(self, sigma: float, listener: Threat) -> float:
        """The smallest sigma_eff of all agents."""
        if not math.isfinite(sigma):
            return math.inf
        model = self.model.with_noise(sigma)
        return min(model.step(i, listener).sigma for i in range(len(model.graph)))


def noise_plan(
    options: Mapping[str, object], records: str, parameters: int, c1: float = 1.0
) -> NoisePlan:
    """The plan of some options; `records` is one number, or one for each agent."""
    count("parameters", parameters)
    real("c1", c1)
    e = from_mapping({"sigma": 1.0, **options}).resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    sizes = parse(records, len(graph))
    if e.rate is None and e.batch and e.batch > min(sizes):
        raise InputError(
            f"batch must be at most the {min(sizes)} records of the smallest agent, "
            f"not {e.batch}."
        )
    last = threat(e.threat)
    model = make_privacy_model(e, make_algorithm(e), graph, sizes, parameters)
    listeners = [*(t for t in model.listeners(last) if t != last), last]
    return NoisePlan(model, make_theorem1(e, model), listeners, c1)


def _multiplier(sigma: float | None) -> Multiplier:
    return "unbounded" if sigma == math.inf else sigma
