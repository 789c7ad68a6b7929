"""D-PSGD with noise that neighbours share: one adds what the other subtracts.

Most of it cancels in the average.

Round t, agent i, with z^i, z^{ij} ~ N(0, sigma^2 C^2 I) and z^{ij} = -z^{ji} a secret of i and j
alone:

    g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i + c sum_{j in N_i - i} z^{ij})
    m <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m

This is DECOR (Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, The Privacy Power of Correlated
Noise in Decentralized Learning, 2024) with the accountant of this project and an optional momentum,
which stays local.

Nobody but i and j may know z^{ij}. In a simulation it is drawn from the seed. With secure
randomness both ends draw it from a key that they alone have: in one process from one that is
forgotten after both have used it, between organisations from one that they agree on
(`privacy/links.py`). It gives no protection against anyone who knows it: see `SecretNoise`, here
with a secret for every link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, LinkNoise
from dpdl.algorithms.dpsgd import DPSGD
from dpdl.algorithms.secrets import SecretNoise
from dpdl.options import AT_LEAST_ZERO, option

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
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

    caveat = "The noise of a link is a secret of its two ends, and hides nothing from either."
    coalitions_anywhere = True

    @property
    def disclosure(self) -> SecretNoise:
        """What a listener who lacks the secrets of some links can solve for."""
        return SecretNoise("links", self.correlation)

    def link_noise(self, graph: Graph) -> LinkNoise:
        """That of c; weight decay is added to a gradient before it."""
        alone, most = self.weight_decay == 0, int(graph.degrees.max())
        return LinkNoise(self.correlation, alone, most)

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
