"""Momentum tracking: every agent follows an estimate of the average momentum.

Round t, agent i, where g~^i is its clipped and perturbed gradient at x^i, and u = c = 0 at the
start:

    u^i <- beta u^i + g~^i
    x^i <- sum_{j in N_i} w_ij x^j - eta (u^i - c^i)
    c^i <- sum_{j in N_i} w_ij (c^j - u^j) + u^i

c^i is how far the momentum of agent i is from the average; the c^i sum to zero, so the mean of all
u^i - c^i is the mean of all momenta. The agents settle at the common optimum with a constant step,
for any beta in [0, 1) (Takezawa, Bao, Niwa, Sato and Yamada, Momentum Tracking: Momentum
Acceleration for Decentralized Deep Learning on Heterogeneous Data, 2023).

What we do differently: the paper has neither clipping nor noise. g~^i is perturbed once; since u^i
is kept, the same noise is in it and in c^i. The authors' public code starts from u = c = (g -
average g) / (1 - beta), for which it sums the first gradients of all agents; ours starts from zero,
which needs no such sum and changes only the first rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, momentum_option
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class MomentumTracking(Stepped):
    """Combine, then adapt: an agent steps along its own tracker u - c.

    Without momentum it is gradient tracking.
    """

    momentum: float = momentum_option()

    disclosure = OwnGradients()

    def init(self, x: Tensor) -> State:
        """Momenta and corrections start at zero; over all agents the corrections sum to zero."""
        return {"x": x, "u": x.new_zeros(x.shape), "c": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Two exchanges: models, and trackers u - c."""
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        u = self.momentum * state["u"] + g
        y = u - state["c"]
        x = net.mix("model", state["x"]) - self.eta(t) * y
        return {"x": x, "u": u, "c": u - net.mix("tracker", y)}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The tracker carries the new gradient; the model holds those of earlier rounds."""
        return (
            Release(
                "model",
                private=False,
                carries="x: computed from trackers and mixed models of earlier rounds",
            ),
            Release(
                "tracker",
                True,
                "u - c: perturbed gradients only",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
        )
