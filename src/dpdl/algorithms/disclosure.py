"""What a round of an algorithm discloses about one agent's records, measured in Gaussian releases.

All that an agent lets out in a round is computed from some releases `clipped gradient + N(0, (sigma C / B)^2 I)` on one
batch. Several of them amount to a single release with a smaller noise multiplier sigma_eff. `exposure` is
(sigma / sigma_eff)^2: for m independent releases it is m. The accountant believes it, so it is derived here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, final

import numpy as np

from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.privacy.threats import EAVESDROPPER, Threat

KAPPA = 0.7581
"""The Lipschitz constant of x -> x / (1 + exp(cos(r, x))): a proven worst case. 1/2 is attainable."""
MOST_COALITIONS = 5_000
"""More coalitions than this are not tried one by one; the eavesdropper, who sees more, stands in for the worst."""
AS_EAVESDROPPER = "upper bound: counted as the eavesdropper"
"""The proof against those who hear less, where no smaller exposure is derived for them."""
BLOCK = 256
"""So many rounds of `Activated` are drawn at a time."""


class Disclosure(Protocol):
    """What the accountant asks about an algorithm."""

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2: how much a round reveals, measured in single Gaussian releases; inf if unbounded."""
        ...

    def least_noise(self, graph: Graph, agent: int, batch_size: int, size: int) -> float:
        """The noise multiplier above which `exposure` is proven, for models of `size` parameters."""
        ...

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """In how many of the first `rounds` rounds the agent releases anything."""
        ...

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Whether the agent releases anything in round t."""
        ...

    def proof(self, threat: Threat) -> str:
        """How `exposure` is derived against a listener, in a phrase; `docs/proofs.md` lists them."""
        ...


@dataclass(frozen=True)
class EveryRound:
    """All agents release something in every round, and any noise will do."""

    def least_noise(self, graph: Graph, agent: int, batch_size: int, size: int) -> float:
        """Any."""
        return 0.0

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """All of them."""
        return rounds

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Always."""
        return True


@final
@dataclass(frozen=True)
class OwnGradients(EveryRound):
    """All that leaves is computed from `count` perturbed gradients of the agent's batch, at models of its own.

    Whoever hears the models may solve for each of them, so no listener is promised more.
    """

    count: int = 1

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """One for every gradient."""
        return float(self.count)

    def proof(self, threat: Threat) -> str:
        """Post-processing."""
        if threat != EAVESDROPPER:
            return AS_EAVESDROPPER
        many = "one Gaussian release" if self.count == 1 else f"{self.count} Gaussian releases on one draw"
        return f"computed from {many}"


@final
@dataclass(frozen=True)
class CrossGradients(EveryRound):
    """All that leaves is computed from |N_i| perturbed gradients: at the agent's own model and at its neighbours'."""

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """|N_i|: exact against an eavesdropper, an upper bound against those who see less."""
        return float(graph.sizes[agent])

    def proof(self, threat: Threat) -> str:
        """Post-processing; one draw of the batch serves all answers."""
        if threat != EAVESDROPPER:
            return AS_EAVESDROPPER
        return "computed from |N_i| Gaussian releases on one draw, all but one of them sent as they are"


@final
@dataclass(frozen=True)
class Algorithm1(EveryRound):
    """DPDL as written: the momentum carries the self-gradient without noise, so that less noise protects it.

    Proven to leading order in 1 / sqrt(d), for one cosine over the whole vector.
    """

    alpha: float
    cosine: str
    kappa: float = KAPPA

    def least_noise(self, graph: Graph, agent: int, batch_size: int, size: int) -> float:
        """The sigma above which `exposure` is proven: alpha N w_ii^(3/2) B / (4 sigma sqrt(d)) < 1."""
        w_ii = float(graph.W[agent, agent])
        return float(self.alpha * len(graph) * w_ii**1.5 * batch_size / (4 * math.sqrt(size)))

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """The sum below, where b_ij = w_ij^(-1/2) and J are the agents that work against agent i.

        They know their own noise:

            |J| + (b_ii + alpha N kappa)^2 / sum_{l in N_i - J} b_il^2
                + sum_{l in N_i - J - i} b_li^2 / sum_{m in N_l - J} b_lm^2

        Whoever sees the cross-gradients subtracts them, which is as if all neighbours were in J.
        """
        if self.cosine == "tensor":  # the argument needs many entries per cosine, and a bias has few
            return math.inf
        around = [int(j) for j in graph.neighbours(agent) if j != agent]
        if threat.kind == "final-model":
            return self._against(graph, agent, ())
        k = threat.neighbours if threat.kind == "neighbours" else len(around)
        if k >= len(around) or math.comb(len(around), k) > MOST_COALITIONS:
            return self._against(graph, agent, tuple(around))
        return max(self._against(graph, agent, J) for J in itertools.combinations(around, k))

    def proof(self, threat: Threat) -> str:
        """Never more than leading order."""
        if self.cosine == "tensor":
            return "nothing: one cosine per tensor has no proof"
        how = {
            "eavesdropper": "the answers sent, and the self-gradient beneath one dose of noise",
            "neighbours": "the worst coalition of K, beneath the noise of all others",
            "final-model": "the updates alone, beneath the noise of all agents",
        }
        return f"to leading order in 1/sqrt(d): {how[threat.kind]}"

    def _against(self, graph: Graph, i: int, J: tuple[int, ...]) -> float:
        def spread(j: int) -> float:
            """Variance of the noise that J cannot subtract from the update of agent j."""
            return float(sum(1 / graph.W[j, m] for m in graph.neighbours(j) if m not in J))

        own = (graph.W[i, i] ** -0.5 + self.alpha * len(graph) * self.kappa) ** 2 / spread(i)
        others = sum(1 / graph.W[j, i] / spread(int(j)) for j in graph.neighbours(i) if j != i and j not in J)
        return float(len(J) + own + others)


@final
@dataclass(frozen=True)
class PairedNoise(EveryRound):
    """One perturbed gradient per agent, with noise beside it that cancels between neighbours.

    A listener hears all gradients of a round at once. Those whose secrets it lacks have, entry by entry, noise of
    covariance sigma^2 (I + c^2 L): L is the Laplacian of the links between them. A record moves one of them by at most
    C / B, so it is as well hidden as in one release with sigma_eff^-2 = ((I + c^2 L)^-1)_ii sigma^-2. That is between
    1 / n, for large c and n agents whose links hold together, and 1, for one whose neighbours all tell what they know.
    """

    correlation: float  # c

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """Coalitions know the noise of their links, and are taken to hear everything as well."""
        around = [int(j) for j in graph.neighbours(agent) if j != agent]
        k = threat.neighbours if threat.kind == "neighbours" else 0
        if k >= len(around) or math.comb(len(around), k) > MOST_COALITIONS:
            return 1.0  # no neighbour's secret is left: the agent's own noise alone
        return max(self._against(graph, agent, J) for J in itertools.combinations(around, k))

    def proof(self, threat: Threat) -> str:
        """Exact for who has no secret: all gradients of a round follow from the models."""
        if threat.kind == "neighbours":
            return "upper bound: Laplacian of the links outside the worst K, who hear everything as well"
        return "exact: Laplacian of hidden links"

    def _against(self, graph: Graph, i: int, J: tuple[int, ...]) -> float:
        left = [j for j in range(len(graph)) if j not in J]
        links = (graph.W[np.ix_(left, left)] > 0).astype(float)
        np.fill_diagonal(links, 0.0)
        laplacian = np.diag(links.sum(axis=1)) - links
        hidden = np.linalg.inv(np.eye(len(left)) + self.correlation**2 * laplacian)
        at = left.index(i)
        return float(hidden[at, at])


@final
@dataclass(frozen=True)
class Activated:
    """One agent is active in a round, and all that it lets out of it is computed from one perturbed gradient.

    Who is active is a public draw: uniform, independent of all records, known before the run. So an agent pays for its
    own active rounds only, and no amplification is claimed for the draw.
    """

    seed: int = field(repr=False)

    def agent(self, graph: Graph, t: int) -> int:
        """The agent that is active in round t = 1, 2, ..."""
        block, k = divmod(t - 1, BLOCK)
        return int(_active(self.seed, len(graph), block)[k])

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """One release in every active round, whoever listens."""
        return 1.0

    def least_noise(self, graph: Graph, agent: int, batch_size: int, size: int) -> float:
        """Any."""
        return 0.0

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """The rounds in which the agent is active."""
        return int(_activity(self.seed, len(graph), rounds)[agent])

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Whether it is the agent's turn."""
        return self.agent(graph, t) == agent

    def proof(self, threat: Threat) -> str:
        """Post-processing, of the agent's own rounds."""
        return AS_EAVESDROPPER if threat != EAVESDROPPER else "computed from one Gaussian release in each active round"


@lru_cache(maxsize=4096)
def _active(seed: int, agents: int, block: int) -> np.ndarray:
    """The active agents of rounds BLOCK * block + 1, ..., BLOCK * (block + 1)."""
    rounds = range(BLOCK * block + 1, BLOCK * (block + 1) + 1)
    return np.array([generator(seed, "activation", t).integers(agents) for t in rounds])


@lru_cache(maxsize=4096)
def _activity(seed: int, agents: int, rounds: int) -> np.ndarray:
    """How often each agent is active in the first rounds."""
    blocks = [_active(seed, agents, block) for block in range(-(-rounds // BLOCK))]
    return np.bincount(np.concatenate([np.zeros(0, int), *blocks])[:rounds], minlength=agents)
