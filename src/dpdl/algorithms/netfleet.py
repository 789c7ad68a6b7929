"""DP-NETFLEET: gradient tracking with local steps, so that agents talk in every tau-th round only.

Round t, agent i, where g~^i_t is its clipped and perturbed gradient at x^i_t, and y_0 = g~_0 = 0.
W'_t = W when tau divides t, and the identity otherwise:

    y^i_t     = sum_{j in N_i} w'_{t-1,ij} y^j_{t-1} + g~^i_t - g~^i_{t-1}
    x^i_{t+1} = sum_{j in N_i} w'_{t,ij} x^j_t - eta y^i_t

NET-FLEET is by Zhang, Fang, Liu, Yang, Liu and Zhu (NET-FLEET: Achieving Linear Convergence Speedup
for Fully Decentralized Federated Learning with Heterogeneous Data, 2022). It has neither clipping
nor noise. The DPDL paper compares with a private one, for which there is no public code: this is
our reading of it. g~^i_t is perturbed once and kept, and the very same vector is subtracted a round
later; fresh noise on the difference would turn the mean of the trackers into a random walk. With
tau = 1 it is gradient tracking in the order combine, then adapt.

One round here is one local step: tau local steps and one exchange are tau rounds. Every local step
takes a new batch and is a Gaussian release of its own, also when its result leaves only later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, local_steps_option
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class NetFleet(Stepped):
    """Local steps along the tracker; models and trackers are mixed in every tau-th round."""

    local_steps: int = local_steps_option()

    disclosure = OwnGradients()

    @property
    def period(self) -> int:
        """Models are exchanged in every tau-th round."""
        return self.local_steps

    def init(self, x: Tensor) -> State:
        """Zero trackers and zero old gradients: the first tracker is then the first gradient."""
        return {"x": x, "y": x.new_zeros(x.shape), "g": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One local step; when tau divides t, also two exchanges: models and trackers."""
        x = state["x"]
        g, info = self.own_gradient(x, batches, net, grad, t)
        y = state["y"] + g - state["g"]
        step = self.eta(t) * y
        if t % self.local_steps:
            return {"x": x - step, "y": y, "g": g}, info
        return {
            "x": net.mix("model", x) - step,
            "y": net.mix("tracker", y),
            "g": g,
        }, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The tracker carries the gradient of its round, the model those of the steps before it.

        The tracker telescopes, so that a local gradient moves the model once, by eta times its own
        movement.
        """
        bound, sigma = grad.clip.sensitivity, grad.noise_multiplier
        model = Release(
            "model",
            private=False,
            carries="x: computed from trackers and models of earlier exchanges",
        )
        if self.local_steps > 1:
            carries = (
                "x: perturbed gradients of the local steps since the last exchange"
            )
            model = Release(
                "model",
                True,
                carries,
                None if bound is None else self.lr * bound,
                sigma,
            )
        return model, Release(
            "tracker", True, "y: perturbed gradients only", bound, sigma
        )
