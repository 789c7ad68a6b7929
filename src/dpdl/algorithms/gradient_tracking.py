"""Gradient tracking (DSGT): every agent follows an estimate of the average gradient.

Round t, agent i, where g~^i_t is its clipped and perturbed gradient at x^i_t, and y_0 = g~_0 = 0:

    y^i_t     = sum_{j in N_i} w_ij y^j_{t-1} + g~^i_t - g~^i_{t-1}
    x^i_{t+1} = sum_{j in N_i} w_ij (x^j_t - eta y^j_t)

The mean of all y^i is the mean of all g~^i in every round, so that the agents settle at the common
optimum with a constant step, however much their data differ (Pu and Nedic, Distributed stochastic
gradient tracking methods, 2021).

What we do differently: the paper has neither clipping nor noise. g~^i_t is perturbed once and kept,
and the very same vector is subtracted a round later; fresh noise on the difference would turn the
mean of the trackers into a random walk. All that leaves agent i in a round is computed from this
one release and from earlier ones. The first tracker is the first gradient, as in the paper; we get
it by starting from zero, so that every round has one gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class GradientTracking(Stepped):
    """Adapt, then combine: the tracker and the stepped model are mixed in the same round."""

    disclosure = OwnGradients()
    shows_step = StepShown("model", same_round=True, at_mixed=True)

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
        """Two exchanges: trackers and stepped models. `state["y"]` is the mixed tracker, W y."""
        x = state["x"]
        g, info = self.own_gradient(x, batches, net, grad, t)
        y = state["y"] + g - state["g"]
        # Both rows must be sent: x is a mean of rows that a neighbour of i may not hear.
        return {
            "x": net.mix("model", x - self.eta(t) * y),
            "y": net.mix("tracker", y),
            "g": g,
        }, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The tracker carries the new gradient; the model adds nothing to it."""
        return (
            Release(
                "tracker",
                True,
                "y: perturbed gradients only",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
            Release(
                "model",
                private=False,
                carries="x - eta y: computed from trackers and mixed models",
            ),
        )
