"""Quasi-global momentum: the momentum follows the mixed models, not the agent's own gradients.

    m   = beta mh + g~
    x'  = sum_{j in N_i} w_ij (x^j - eta m^j)
    mh <- mu mh + (1 - mu) (x - x') / eta,   x <- x'

with g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i), z^i ~ N(0, sigma^2 C^2 I).

This is QG-DSGDm (Lin, Karimireddy, Stich, Jaggi, Quasi-Global Momentum: Accelerating Decentralized
Deep Learning on Heterogeneous Data, 2021), without the Nesterov step of its variant QG-DSGDm-N.
Clipping and noise are ours. eta is the step size of the round, also where the difference of models
is divided by it.

mh is never sent, and it is computed from models that the agent has sent or received. So everything
that leaves agent i in a round is computed from one Gaussian release on its batch and from what
others sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown, momentum_option
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.options import SHARE, Range, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class QGMomentum(Stepped):
    """The momentum is a running mean of (x - x') / eta: mixing puts all gradients into it."""

    momentum: float = momentum_option(0.9)
    tracking: float = option(
        0.9,
        "share mu of the running mean that is kept",
        check=SHARE,
        search=Range(0, 1),
    )
    disclosure = OwnGradients()
    shows_step = StepShown("step", same_round=True, at_mixed=True)

    def init(self, x: Tensor) -> State:
        """The running mean starts at zero."""
        return {"x": x, "mh": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: stepped models."""
        x, mh, eta = state["x"], state["mh"], self.eta(t)
        g, info = self.own_gradient(x, batches, net, grad, t)
        mixed = net.mix("step", x - eta * (self.momentum * mh + g))
        return {
            "x": mixed,
            "mh": self.tracking * mh + (1 - self.tracking) * ((x - mixed) / eta),
        }, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The stepped model carries the new gradient."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "step", True, "x - eta (beta mh + g~)", moved, grad.noise_multiplier
            ),
        )
