"""What `dpdl privacy sigma` and `dpdl privacy epsilon` compute, before any data are touched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from dpdl.errors import InputError
from dpdl.experiment.experiment import from_mapping
from dpdl.graph import build
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.declared import parse
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import DEFAULT_THREATS, Threat, threat

CLAIMS = ("theorem1", "theorem1_appendix")
POINTS = 24
"""Of a picture of epsilon over rounds."""


@final
@dataclass(frozen=True)
class NoisePlan:
    """All that privacy depends on, except the noise."""

    model: PrivacyModel
    theorem1: Theorem1 | None  # None: it is not about the algorithm
    listeners: list[Threat]  # the one that was asked for is the last
    c1: float = 1.0  # the constant c_1 of Theorem 1

    def sigmas(self, epsilon: float) -> dict[str, Any]:
        """The noise multiplier that a target needs, for every threat model."""
        needed = self._needed(epsilon)
        claims: list[float] = []
        if self.theorem1:
            appendix = self.theorem1.appendix_sigma(epsilon)
            claims = [self.theorem1.sigma(epsilon), appendix]
        effective = {t.key: self._effective(sigma, t) for t, sigma in needed.items()}
        values = {**_named(claims), **{t.key: sigma for t, sigma in needed.items()}}
        return {
            "sigma": _bounded(values),
            "sigma_eff": _bounded(effective),
            "notes": self.notes(epsilon),
        }

    def epsilons(self, sigma: float) -> dict[str, Any]:
        """What a noise multiplier proves, for every threat model and every agent."""
        noisy, claims = self.model.with_noise(sigma), list[float]()
        if self.theorem1:
            appendix = self.theorem1.appendix_sigma(1.0) / sigma
            claims = [self.theorem1.epsilon(sigma), appendix]
        worst = {t.key: noisy.worst(t) for t in self.listeners}
        agents = range(len(noisy.graph))
        of_agents = {
            t.key: [_or_unbounded(noisy.epsilon(i, t)) for i in agents]
            for t in self.listeners
        }
        return {
            "epsilon": _bounded({**_named(claims), **worst}),
            "per_agent": of_agents,
            "notes": self.notes(next(iter(claims), math.nan)),
        }

    def needed_sigma(self, epsilon: float) -> float:
        """The noise multiplier that a target needs against the threat that was asked for."""
        return self.model.needed_sigma(epsilon, self.listeners[-1])

    def notes(self, target: float) -> list[str]:
        """What a person must know to read the numbers."""
        model = self.model
        rate = min(1.0, model.batch / min(model.records))
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
        if words := model.algorithm.attainable(model.graph):
            found.append(words)
        if self.theorem1 is None:
            return [*found, "Theorem 1 is not about this algorithm."]
        return [*found, *self.theorem1.complaints(target, self.c1)]

    def draw(self, sigma: float, path: Path) -> Path:
        """Draw epsilon over the rounds, proven and claimed, for a noise multiplier."""
        from dpdl.report.epsilon_curves import draw_epsilon

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
        title = f"sigma = {sigma:.4g}, delta = {model.delta:g}"
        return draw_epsilon(rounds, finite, claimed, path, title)

    def _needed(self, epsilon: float) -> dict[Threat, float]:
        return {t: self.model.needed_sigma(epsilon, t) for t in self.listeners}

    def _effective(self, sigma: float, listener: Threat) -> float:
        """The smallest sigma_eff of all agents."""
        if not math.isfinite(sigma):
            return math.inf
        model = self.model.with_noise(sigma)
        return min(model.step(i, listener).sigma for i in range(len(model.graph)))


def noise_plan(
    options: Mapping[str, Any], records: str, parameters: int, c1: float = 1.0
) -> NoisePlan:
    """The plan that options ask about; `records` is one number, or one for each agent."""
    if parameters < 1:
        raise InputError(
            f"parameters must be a whole number of at least 1, not {parameters}."
        )
    e = from_mapping({"sigma": 1.0, **options}).resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    sizes = parse(records, len(graph))
    assert e.batch
    if e.batch > min(sizes):
        raise InputError(
            f"batch must be at most the {min(sizes)} records of the smallest agent, "
            f"not {e.batch}."
        )
    asked = threat(e.threat)
    listeners = [*(t for t in DEFAULT_THREATS if t != asked), asked]
    model = make_privacy_model(e, make_algorithm(e), graph, sizes, parameters)
    return NoisePlan(model, make_theorem1(e, model), listeners, c1)


def _named(claims: list[float]) -> dict[str, float | None]:
    """Theorem 1 and the last formula of its appendix; None when it says nothing here."""
    return dict(zip(CLAIMS, claims or (None, None), strict=True))


def _bounded(values: Mapping[str, float | None]) -> dict[str, float | str | None]:
    return {name: _or_unbounded(value) for name, value in values.items()}


def _or_unbounded(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else "unbounded"
