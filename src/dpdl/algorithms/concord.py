"""Noise that cancels between pairs with a secret, and exact agreement on the perturbed gradient.

Round t, agent i, with z^i, z^{ij} ~ N(0, sigma^2 C^2 I) and z^{ij} = -z^{ji} a secret of i and j
alone, for the pairs S of the graph of secrets:

    g^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i + c sum_{j: ij in S} z^{ij})
    g^i <- (sum_{j in N_i} w_ij g^j - l_k g^i) / (1 - l_k),   k = 1..m
    m <- beta m + g + weight decay,   x <- x - eta m

The l_k are distinct eigenvalues of W other than 1, all of them or as many as it takes, so after
the last step every g^i is the mean of all, in which the noise of pairs is gone. All agents make
the same step, and their models stay equal, up to rounding.

The noise is that of DECOR (Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, The Privacy Power of
Correlated Noise in Decentralized Learning, 2024); noise between all pairs of clients is older, for
sums by a server (Bonawitz et al., Practical Secure Aggregation, 2017). Agreement in finitely many
steps is that of `dpdl.graph.consensus`. What is ours is to put them together: secrets that need not
follow the links, so that a sparse graph is as safe as a complete one; noise that is gone before a
model is moved by it, so that c may be large; and the accounting.

What leaves is computed from the perturbed gradients of all agents: see `SecretNoise`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import (
    Info,
    LinkNoise,
    State,
    Stepped,
    StepShown,
    batch_info,
    momentum_option,
)
from dpdl.algorithms.secrets import (
    SECRETS,
    SecretNoise,
    enough_correlation,
    most_secrets,
    pairs_of,
)
from dpdl.errors import InputError
from dpdl.graph.consensus import ALIKE, Consensus, consensus
from dpdl.options import AT_LEAST_ONE, AT_LEAST_ZERO, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch

ROUNDED = 0.25
"""How far rounding may move the mean at most, over the noise that stays in it."""
APART = "apart"
"""In the state, if agents may hold models of different rounds."""
UNITS = {4: 2.0**-24, 8: 2.0**-53}
"""Relative rounding errors, by the bytes of a number."""


@final
@dataclass(frozen=True)
class Concord(Stepped):
    """Perturbed gradients whose shared noise cancels; gossip until all have their mean; a step."""

    momentum: float = momentum_option(0.9)
    correlation: float | None = option(
        None,
        "noise c that cancels between two agents with a secret, over the agent's own",
        check=AT_LEAST_ZERO,
        by="graph of secrets",
    )
    secrets: str | None = option(
        None,
        "pairs that have a secret: complete, links or regular:K",
        check=SECRETS,
        by="number of agents",
    )
    consensus_steps: int = option(
        64,
        "most exchanges of a round; refused where the exact mean takes more",
        check=AT_LEAST_ONE,
    )

    caveat = (
        "The noise of a pair of agents is a secret of the two, and hides nothing from either; "
        "agents that work together, linked or not, know that of all their pairs."
    )
    agrees = True
    coalitions_anywhere = True
    shows_step = StepShown(
        hidden_because="its models never leave; what leaves are gradients"
    )

    @property
    def disclosure(self) -> SecretNoise:
        """What a listener who lacks some secrets can solve for."""
        return SecretNoise(self.secrets, self.correlation)

    def c(self, graph: Graph) -> float:
        """The correlation: given, or the smallest that comes close to a trusted server."""
        if self.correlation is None:
            return enough_correlation(self.secrets, graph)
        return self.correlation

    def link_noise(self, graph: Graph) -> LinkNoise:
        """That of c, between all pairs with a secret; weight decay is added after it."""
        most = most_secrets(pairs_of(self.secrets, graph))
        return LinkNoise(self.c(graph), True, most)

    def conspirators(self, graph: Graph) -> tuple[int, ...]:
        """Two, half of all, and all but one."""
        agents = len(graph)
        return (
            tuple(sorted({2, agents // 2, agents - 1} - {0, 1})) if agents > 2 else ()
        )

    def check(self, graph: Graph) -> None:
        """Refuse a graph that needs too many steps."""
        self.steps(graph)
        pairs_of(self.secrets, graph)

    def steps(self, graph: Graph) -> Consensus:
        """The exchanges of a round, after which all agents have the mean."""
        found = consensus(graph, self.consensus_steps)
        if found is None:
            raise InputError(
                f"concord needs more than {self.consensus_steps} exchanges a round for the exact "
                f"mean on {graph!r}; allow more by consensus_steps, or take a graph that mixes "
                "faster or has more symmetry."
            )
        return found

    def imprecise(self, graph: Graph, bytes_each: int) -> str | None:
        """Noise of size c sigma C / B must leave a mean that rounding has not spoilt."""
        c, most = self.c(graph), most_secrets(pairs_of(self.secrets, graph))
        moved = UNITS[bytes_each] * self.steps(graph).gain + ALIKE * (len(graph) > 1)
        over_mean = moved * math.sqrt(len(graph))
        if over_mean * math.sqrt(1 + c * c * most) <= ROUNDED:
            return None
        longer = "" if bytes_each == 8 else "use dtype float64, or "
        largest = (ROUNDED / over_mean) ** 2 - 1
        least = f"a correlation of at most {math.sqrt(max(0.0, largest) / most):.2g}"
        return (
            f"Noise that cancels with correlation {c:g} loses the mean to rounding on {graph!r}; "
            f"{longer}{least}."
        )

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "m": x.new_zeros(x.shape)}

    def rejoined(self, x: Tensor) -> State:
        """Some have ended a round that others gave up: agree on a model in the next round."""
        return {**self.init(x), APART: x.new_ones(len(x), 1)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """As many exchanges as the mean takes, all of gradients."""
        x = state["x"]
        g, info = self.agreed(x, batches, net, grad, t, "consensus")
        if APART in state:
            x = self._mean("consensus", x, net)
        if self.weight_decay:
            g = g + self.weight_decay * x
        m = self.momentum * state["m"] + g
        return {"x": x - self.eta(t) * m, "m": m}, info

    def agreed(
        self,
        x: Tensor,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
        channel: str,
    ) -> tuple[Tensor, Info]:
        """The mean of all agents' perturbed gradients, free of the noise of pairs."""
        answers = grad.own(x, batches, net.selves, t)
        secrets = pairs_of(self.secrets, net.graph)
        c = self.c(net.graph)
        g = grad.shared(answers.private, net.agents, secrets, c, t)
        return self._mean(channel, g, net), Info(batch_info(answers, net))

    def _mean(self, channel: str, rows: Tensor, net: Net) -> Tensor:
        """The mean of all agents' rows, at every agent."""
        for root in self.steps(net.graph).roots:
            mixed = net.mix(channel, rows)
            rows = mixed.sub_(rows, alpha=root).div_(1 - root) if root else mixed
        return rows

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The first message is the perturbed gradient, the others mix what was received."""
        return (
            Release(
                "consensus",
                True,
                "g~: perturbed gradient with the noise of pairs, then its mixtures; after an "
                "agent was dropped, once, x: steps along earlier means",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
        )
