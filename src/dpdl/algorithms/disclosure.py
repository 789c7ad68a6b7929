"""What a round of an algorithm discloses about one agent's records, measured in Gaussian releases.

All that an agent lets out in a round is computed from some releases `clipped gradient + N(0, (sigma
C / B)^2 I)` on one batch. Several of them amount to a single release with a smaller noise
multiplier sigma_eff. `exposure` is (sigma / sigma_eff)^2: for m independent releases it is m. The
accountant believes it, so it is derived here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol, final

import numpy as np

from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.privacy.accounting import Effect
from dpdl.privacy.threats import EAVESDROPPER, Threat

MOST_COALITIONS = 5_000
"""More coalitions than this are not tried one by one.

The eavesdropper, who sees more than any of them, stands in for the worst.
"""
AS_EAVESDROPPER = "upper bound: counted as the eavesdropper"
"""The proof against those who hear less, where no smaller exposure is derived for them."""
BLOCK = 256
"""Number of rounds of `Activated` that are drawn at a time."""


class Setting(NamedTuple):
    """What a proof may depend on beside the graph; all of it is public."""

    sigma: float  # noise multiplier of one answer
    largest: int  # no batch is larger, but with probability `failure` / 4
    size: int  # d, number of parameters
    failure: float  # probability with which the proof of a round may fail


class Disclosure(Protocol):
    """What the accountant asks about an algorithm."""

    def __hash__(self) -> int:
        """Answers are remembered."""
        ...

    @property
    def adaptive(self) -> bool:
        """Whether an answer depends, through another one of its round, on the same batch."""
        ...

    @property
    def sized(self) -> bool:
        """Whether `effect` depends on the number of parameters."""
        ...

    def worse(self, graph: Graph, a: int, b: int, threat: Threat) -> bool:
        """Whether `effect` of agent a is at most that of agent b in every setting."""
        ...

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2 for a large sigma; infinite if nothing is proven."""
        ...

    def effect(self, graph: Graph, agent: int, threat: Threat, at: Setting) -> Effect:
        """The single release that a round amounts to at most."""
        ...

    def sigma(
        self, graph: Graph, agent: int, threat: Threat, at: Setting, effective: float
    ) -> float:
        """The smallest noise multiplier whose `effect` has a sigma of at least `effective`."""
        ...

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """In how many of the first `rounds` rounds the agent releases anything."""
        ...

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Whether the agent releases anything in round t."""
        ...

    def proof(self, threat: Threat) -> str:
        """How `exposure` is derived against a listener, as a phrase for `docs/proofs.md`."""
        ...


class Proportional(ABC):
    """sigma_eff is proportional to sigma, whatever the setting."""

    @property
    def adaptive(self) -> bool:
        """All answers of a round are about models that were there before it."""
        return False

    @property
    def sized(self) -> bool:
        """It does not depend on the model."""
        return False

    def worse(self, graph: Graph, a: int, b: int, threat: Threat) -> bool:
        """By exposure."""
        return exposure(self, graph, a, threat) >= exposure(self, graph, b, threat)

    @abstractmethod
    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2."""

    def effect(self, graph: Graph, agent: int, threat: Threat, at: Setting) -> Effect:
        """The noise of one answer over the root of the exposure."""
        ratio = exposure(self, graph, agent, threat)
        return Effect(at.sigma / math.sqrt(ratio) if math.isfinite(ratio) else 0.0)

    def sigma(
        self, graph: Graph, agent: int, threat: Threat, at: Setting, effective: float
    ) -> float:
        """The other way round."""
        return effective * math.sqrt(exposure(self, graph, agent, threat))


@lru_cache(maxsize=1 << 16)
def exposure(disclosure: Disclosure, graph: Graph, agent: int, threat: Threat) -> float:
    """The exposure, computed once: some try many coalitions."""
    return disclosure.exposure(graph, agent, threat)


@dataclass(frozen=True)
class EveryRound(Proportional):
    """All agents release something in every round."""

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """All of them."""
        return rounds

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Always."""
        return True


@final
@dataclass(frozen=True)
class OwnGradients(EveryRound):
    """All that leaves is computed from `count` perturbed gradients at the agent's own models.

    Whoever hears the models may solve for each of them, so no listener is promised more. The second
    one is taken at a model that the first has moved.
    """

    count: int = 1

    @property
    def adaptive(self) -> bool:
        """Whether there is a second one."""
        return self.count > 1

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """One for every gradient."""
        return float(self.count)

    def proof(self, threat: Threat) -> str:
        """Post-processing."""
        if threat != EAVESDROPPER:
            return AS_EAVESDROPPER
        many = (
            "one Gaussian release"
            if self.count == 1
            else f"{self.count} Gaussian releases on one draw"
        )
        return f"computed from {many}"


@final
@dataclass(frozen=True)
class CrossGradients(EveryRound):
    """All that leaves is computed from |N_i| perturbed gradients.

    They are taken at the agent's own model and at its neighbours'.
    """

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """|N_i|: exact against an eavesdropper, an upper bound against those who see less."""
        return float(graph.sizes[agent])

    def proof(self, threat: Threat) -> str:
        """Post-processing; one draw of the batch serves all answers."""
        if threat != EAVESDROPPER:
            return AS_EAVESDROPPER
        return (
            "computed from |N_i| Gaussian releases on one draw, all but one of them sent "
            "as they are"
        )


@final
@dataclass(frozen=True)
class Activated(Proportional):
    """One agent is active in a round, and releases one perturbed gradient of it.

    Who is active is a public draw: uniform, independent of all records, known before the run. So an
    agent pays for its own active rounds only, and no amplification is claimed for the draw.
    """

    seed: int = field(repr=False)

    def agent(self, graph: Graph, t: int) -> int:
        """The agent that is active in round t = 1, 2, ..."""
        block, k = divmod(t - 1, BLOCK)
        return int(_active(self.seed, len(graph), block)[k])

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """One release in every active round, whoever listens."""
        return 1.0

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """The rounds in which the agent is active."""
        return int(_activity(self.seed, len(graph), rounds)[agent])

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Whether it is the agent's turn."""
        return self.agent(graph, t) == agent

    def proof(self, threat: Threat) -> str:
        """Post-processing, of the agent's own rounds."""
        return (
            AS_EAVESDROPPER
            if threat != EAVESDROPPER
            else "computed from one Gaussian release in each active round"
        )


@lru_cache(maxsize=4096)
def _active(seed: int, agents: int, block: int) -> np.ndarray:
    """The active agents of rounds BLOCK * block + 1, ..., BLOCK * (block + 1)."""
    rounds = range(BLOCK * block + 1, BLOCK * (block + 1) + 1)
    return np.array([generator(seed, "activation", t).integers(agents) for t in rounds])


@lru_cache(maxsize=4096)
def _activity(seed: int, agents: int, rounds: int) -> np.ndarray:
    """How often each agent is active in the first rounds."""
    blocks = [_active(seed, agents, block) for block in range(-(-rounds // BLOCK))]
    return np.bincount(
        np.concatenate([np.zeros(0, int), *blocks])[:rounds], minlength=agents
    )
