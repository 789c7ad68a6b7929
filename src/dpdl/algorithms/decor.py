"""D-PSGD with noise that neighbours share: one adds what the other subtracts.

Most of it cancels in the average.

Round t, agent i, with z^i, z^{ij} ~ N(0, sigma^2 C^2 I) and z^{ij} = -z^{ji} a secret of i and j
alone:

    g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i + c sum_{j in N_i - i} z^{ij})
    m <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m

This is DECOR (Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, The Privacy Power of Correlated
Noise in Decentralized Learning, 2024) with the accountant of this project and an optional momentum,
which stays local.

Nobody but i and j may know z^{ij}. Here it is drawn from the seed of the simulation; agents of
different organisations would agree on a key per link first, on a channel that nobody else hears. It
gives no protection against anyone who knows it: see `PairedNoise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info
from dpdl.algorithms.disclosure import PairedNoise
from dpdl.algorithms.dpsgd import DPSGD
from dpdl.options import AT_LEAST_ZERO, option

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class Decor(DPSGD):
    """D-PSGD with noise that cancels between neighbours; nothing more is sent for it."""

    correlation: float = option(
        3.0,
        "noise c that cancels on a link, over the agent's own",
        check=AT_LEAST_ZERO,
    )

    needs_shared_seed = "neighbours have no common secret yet"

    @property
    def disclosure(self) -> PairedNoise:
        """What a listener who lacks the secrets of some links can solve for."""
        return PairedNoise(self.correlation)

    def own_gradient(
        self,
        x: Tensor,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[Tensor, Info]:
        """The agent's own noise, which is what `releases` declares, and that of its links."""
        g, info = super().own_gradient(x, batches, net, grad, t)
        return grad.paired(g, net.visits, self.correlation, t), info
