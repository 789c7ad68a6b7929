"""Muffliato: a private gradient step, then K steps of accelerated gossip.

    y^0 = x - eta g~,   y^1 = W y^0,   y^{k+1} = gamma W y^k + (1 - gamma) y^{k-1},   x <- y^K

with g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i), z^i ~ N(0, sigma^2 C^2 I), so that
the noise on the update has standard deviation eta sigma C / B. With rho = max(|lambda_2|,
|lambda_N|) and s = sqrt(1 - rho^2):

    gamma = 2 / (1 + s),     K = ceil(ln N / sqrt(1 - |lambda_2|)) unless given

Where one mixing already gives the mean (rho = 0: one agent, or a complete graph with equal
weights), K = 1.

The algorithm is Muffliato-SGD (Cyffers, Even, Bellet, Massoulié, Muffliato: Peer-to-Peer Privacy
Amplification for Decentralized Optimization and Averaging, 2022). What we do differently: the
original does not clip before it adds noise; its public code puts (1 + lambda_2) / 2 in place of
rho, and for vectors it starts the recursion from y^{-1} = 0, which changes the mean. With y^1 = W
y^0 the mean is kept.

Everything that leaves agent i in a round is computed from one Gaussian release on its batch and
from what others sent. That is the level that is accounted for. `dpdl.algorithms.pairwise` says what
a single agent learns from one call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.errors import InputError
from dpdl.graph.matrix import DIGITS, acceleration
from dpdl.options import AT_LEAST_ONE, Range, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class Muffliato(Stepped):
    """Private gradient step, then K gossip steps that keep the mean and shrink the disagreement."""

    gossip_steps: int | None = option(
        None,
        "gossip steps K of a round",
        check=AT_LEAST_ONE,
        search=Range(1, 10),
        by="spectral gap",
    )
    disclosure = OwnGradients()
    shows_step = StepShown("gossip", same_round=True, at_mixed=True, gossip=True)

    def check(self, graph: Graph) -> None:
        """A graph that hardly mixes has no default number of steps."""
        if self.gossip_steps is None and round(graph.lambda2, DIGITS) == 1:
            raise InputError(
                f"Muffliato cannot choose gossip_steps: the spectral gap of {graph!r} is "
                f"{graph.spectral_gap:.1e}. Give gossip_steps, or a graph that mixes."
            )

    def init(self, x: Tensor) -> State:
        """Nothing but the models is remembered."""
        return {"x": x}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """K exchanges, all on one channel."""
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        steps = (
            default_steps(net.graph) if self.gossip_steps is None else self.gossip_steps
        )
        return {"x": gossip(state["x"] - self.eta(t) * g, net, steps)}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The first message is the stepped model itself, the others mix what was received."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "gossip",
                True,
                "y^0 = x - eta g~ to y^{K-1}",
                moved,
                grad.noise_multiplier,
            ),
        )


def gossip(y: Tensor, net: Net, steps: int) -> Tensor:
    """y^K = P_K(W) y^0 by K messages of every agent: the mean stays, the rest shrinks.

    With r = rho / (1 + s), the part of y^0 on an eigenvector of W with |lambda| <= rho is
    multiplied by at most r^K (1 + K s) in size, and by just that if |lambda| = rho: for lambda =
    rho cos(a) the recursion has the solution P_k = r^k (cos(k a) + s cos(a) sin(k a) / sin(a)).
    """
    gamma = acceleration(net.graph)
    before, now = y, net.mix("gossip", y)
    for _ in range(steps - 1):
        before, now = now, gamma * net.mix("gossip", now) + (1 - gamma) * before
    return now


def default_steps(graph: Graph) -> int:
    """K = ceil(ln N / sqrt(1 - |lambda_2|)), and 1 where one mixing gives the mean."""
    if round(graph.lambda2, DIGITS) == 0:
        return 1
    second = round(abs(float(graph.eigenvalues[1])), DIGITS)
    return math.ceil(math.log(len(graph)) / math.sqrt(1 - second))
