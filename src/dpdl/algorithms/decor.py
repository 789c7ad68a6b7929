"""D-PSGD with noise that neighbours share: one adds what the other subtracts, so most of it cancels in the average.

Round t, agent i, with z^i, z^{ij} ~ N(0, sigma^2 C^2 I) and z^{ij} = -z^{ji} a secret of i and j alone:

    g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i + c sum_{j in N_i - i} z^{ij})
    m <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m

This is DECOR (Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, The Privacy Power of Correlated Noise in
Decentralized Learning, 2024) with the accountant of this project and an optional momentum, which stays local.

Nobody but i and j may know z^{ij}. Here it is drawn from the seed of the simulation; agents of different organisations
would agree on a key per link first, on a channel that nobody else hears. Against who knows it, it protects nothing: see
`PairedNoise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped
from dpdl.algorithms.disclosure import PairedNoise
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.mechanism import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class Decor(Stepped):
    """x <- W x - eta m, with noise that cancels between neighbours."""

    momentum: float  # beta
    correlation: float  # c: deviation of the noise of a link over that of the agent's own

    @property
    def disclosure(self) -> PairedNoise:
        """What a listener who lacks the secrets of some links can solve for."""
        return PairedNoise(self.correlation)

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "m": x.new_zeros(x.shape)}

    def round(
        self, state: State, batches: Sequence[Batch], net: Net, grad: PrivateGradient, t: int
    ) -> tuple[State, Info]:
        """One exchange: models, as in D-PSGD. Nothing is sent for the noise of the links."""
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        m = self.momentum * state["m"] + grad.paired(g, net.visits, self.correlation, t)
        return {"x": net.mix("model", state["x"]) - self.eta(t) * m, "m": m}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The models carry the gradients of the rounds before; the noise named here is the agent's own."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (Release("model", True, "x: mixed models, minus eta m of the last round", moved, grad.noise_multiplier),)
