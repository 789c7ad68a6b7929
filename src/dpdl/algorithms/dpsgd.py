"""D-PSGD with private gradients, and momentum SGD in which momenta are mixed too.

Round t, agent i, with g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i),  z^i ~ N(0, sigma^2
C^2 I), taken at the model before mixing:

    `DPSGD`     m <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m
    `DMSGD`     v~ = beta v + g~,   x~ = x - eta v~
                v, x <- sum_{j in N_i} w_ij v~^j,  sum_{j in N_i} w_ij x~^j

`DPSGD` with beta = 0 is D-PSGD (Lian et al., Can Decentralized Algorithms Outperform Centralized
Algorithms?, 2017) with the noise of A(DP)^2SGD (Xu, Zhang, Wang, 2020), which has no momentum and
does not wait for slow agents. Here rounds are synchronous, clipping is per sample unless asked
otherwise, and momentum is an option; it stays local. `DMSGD` is the decentralized momentum SGD of
Yu, Jin, Yang (On the Linear Speedup Analysis of Communication Efficient Momentum SGD, 2019), as we
read it. It is DPDL with g~^i in place of the calibrated gradient: the ablation.

Everything that leaves agent i in a round is computed from one Gaussian release on its batch and
from what others sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, momentum_option
from dpdl.algorithms.disclosure import Disclosure, OwnGradients
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@dataclass(frozen=True)
class DPSGD(Stepped):
    """x <- W x - eta m: mix the models, then step along the gradient at the model before mixing."""

    momentum: float = momentum_option(0.0)

    @property
    def disclosure(self) -> Disclosure:
        """One release."""
        return OwnGradients()

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "m": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: models. The new gradient shows in the models of the next round."""
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        m = self.momentum * state["m"] + g
        return {"x": net.mix("model", state["x"]) - self.eta(t) * m, "m": m}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The models carry the gradients of the rounds before."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "model",
                True,
                "x: mixed models, minus eta m of the last round",
                moved,
                grad.noise_multiplier,
            ),
        )


@final
@dataclass(frozen=True)
class DMSGD(Stepped):
    """v <- W v~, x <- W (x - eta v~): step first, then mix models and momenta, as DPDL does."""

    momentum: float = momentum_option()
    disclosure = OwnGradients()

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "v": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Two exchanges: models and momenta; a neighbour rebuilds x~ from x and v~."""
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        eta = self.eta(t)
        models = net.send("model", state["x"])
        momenta = net.send("momentum", self.momentum * state["v"] + g)
        stepped = models.combine(momenta, lambda x, v: x - eta * v)
        return {"x": net.average(stepped), "v": net.average(momenta)}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The momentum is what carries the new gradient."""
        return (
            Release(
                "model", private=False, carries="x: mixed models of earlier rounds"
            ),
            Release(
                "momentum",
                True,
                "beta v + g~",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
        )
