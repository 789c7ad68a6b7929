"""Exact diffusion and D^2: D-PSGD that takes back, in every round, the step before.

Round t, agent i, where g~^i_t is its clipped and perturbed gradient at x^i_t, and psi_{-1} = x_0:

    psi^i_t   = x^i_t - eta_t g~^i_t
    phi^i_t   = x^i_t + psi^i_t - psi^i_{t-1}
    x^i_{t+1} = sum_{j in N_i} v_ij phi^j_t,     V = (I + W) / 2, or V = W

With V = (I + W) / 2 it is exact diffusion (Yuan, Ying, Zhao, Sayed, Exact diffusion for distributed
optimization and learning, 2019), with V = W it is D^2 (Tang, Lian, Yan, Zhang, Liu, D^2:
Decentralized training over decentralized data, 2018), x_{t+1} = W (2 x_t - x_{t-1} - eta g_t + eta
g_{t-1}). The mean of the models moves along the mean of all g~ of the round, and with a constant
step the models settle at the common optimum, as with gradient tracking, for one row instead of two.

Mixing alone is stable only if all eigenvalues of V are above -1/3, which (I + W) / 2 grants on any
graph. Noise: psi_{t-1} has the very g~_{t-1} of the round before, so that noise of old rounds
cancels from the mean. Along an eigenvector of V with eigenvalue l < 1, noise of variance 1 in eta
g~ leaves the variance

    2 l^2 / ((1 - l) (1 + 3 l))

in the models, where D-PSGD that steps and then mixes leaves l^2 / ((1 - l) (1 + l)).

What we do differently: the papers have neither clipping nor noise; eta may change from round to
round, and each gradient is taken back with the step size that it was given with. All that leaves
agent i in a round is computed from one Gaussian release, from earlier ones, and from what others
sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.errors import InputError
from dpdl.options import option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class ExactDiffusion(Stepped):
    """Adapt, correct, combine: one row leaves."""

    lazy: bool = option(
        True, "whether to mix with (I + W) / 2 (exact diffusion) or with W (D^2)"
    )
    disclosure = OwnGradients()
    shows_step = StepShown(
        hidden_because="a message takes back the step before, which shows in earlier rounds, not "
        "in two recorded ones"
    )

    def check(self, graph: Graph) -> None:
        """Refuse a graph on which D^2 drifts apart by mixing alone."""
        smallest = float(graph.eigenvalues[-1])
        if self.lazy or smallest > -1 / 3 + 1e-9:
            return
        raise InputError(
            f"With lazy = false the smallest eigenvalue of W must be above -1/3; it is "
            f"{smallest:.3g} on this graph. Use lazy = true, or another graph."
        )

    def init(self, x: Tensor) -> State:
        """Nothing is taken back in the first round."""
        return {"x": x, "psi": x}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: corrected models."""
        x = state["x"]
        g, info = self.own_gradient(x, batches, net, grad, t)
        psi = x - self.eta(t) * g
        phi = x + psi - state["psi"]
        mixed = net.mix("model", phi)
        return {"x": (phi + mixed) / 2 if self.lazy else mixed, "psi": psi}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The corrected model carries the new gradient, and the one before."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "model",
                True,
                "phi: models and perturbed gradients of this round and the one before",
                moved,
                grad.noise_multiplier,
            ),
        )
