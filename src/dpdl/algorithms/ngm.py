"""NGM: the mean of the gradients in the neighbourhood, over models and over data.

Aketi, Kodge, Roy, "Neighborhood Gradient Mean: An Efficient Decentralized Learning Method for
Non-IID Data", 2023; first called neighborhood gradient clustering.

Round t, agent i, with x = x^i_{t-1}, m = m^i_{t-1} and g_ddot^{ij} as in DPDL (x^i on the records
of j, clipped and perturbed at j):

    g~  = (1 - a) sum_{j in N_i} w_ij g_ddot^{ji}  +  a sum_{j in N_i} w_ij g_ddot^{ij}
    m  <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m

The first sum needs no message: agent i computed all of it, on its own records. With a = 0 no
gradient is sent, with a = 1 the second sum stands alone.

The noise is ours, on every gradient: all that leaves agent i is computed from its |N_i| Gaussian
releases of the round. With a = 0 only their sum leaves (`OwnMean`). The public code takes the
self-gradient at the mixed model; we take all at the models that were sent. Its momentum is
Nesterov's or quasi-global; ours is plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import (
    Info,
    State,
    Stepped,
    batch_info,
    momentum_option,
)
from dpdl.algorithms.disclosure import (
    AS_EAVESDROPPER,
    CrossGradients,
    Disclosure,
    EveryRound,
)
from dpdl.options import SHARE, Range, option
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import EAVESDROPPER

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.privacy.threats import Threat
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class OwnMean(EveryRound):
    """All that leaves is computed from sum_j w_ij g_ddot^{ji}.

    One record moves that sum by at most C / B, because the weights sum to 1.
    """

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """1 / sum_j w_ij^2, which is |N_i| for equal weights.

        The sum has noise sigma (C / B) sqrt(sum_j w_ij^2).
        """
        return float(1 / (graph.W[agent] ** 2).sum())

    def proof(self, threat: Threat) -> str:
        """The mean shows in the models."""
        return (
            AS_EAVESDROPPER
            if threat != EAVESDROPPER
            else "exact: the weighted mean of |N_i| Gaussian releases"
        )


@final
@dataclass(frozen=True)
class NGM(Stepped):
    """Means of gradients: neighbours' models on the agent's records, and its model on theirs."""

    momentum: float = momentum_option()
    data_share: float = option(
        0.5,
        "share a of the gradients on the neighbours' data",
        check=SHARE,
        search=Range(0, 1),
    )

    answers_neighbours = True

    @property
    def compressible(self) -> bool:
        """Whether gradients are sent at all."""
        return self.data_share > 0

    @property
    def disclosure(self) -> Disclosure:
        """|N_i| releases, or their mean when no gradient is sent."""
        return CrossGradients() if self.data_share else OwnMean()

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
        """Two exchanges, models and cross-gradients, or the first alone."""
        models = net.send("model", state["x"])
        answers = grad.answers(models, batches, net.visits, t)
        m = self.momentum * state["m"] + self.weight_decay * state["x"]
        if self.data_share < 1:
            m += (1 - self.data_share) * net.average_answers(answers.private)
        if self.data_share > 0:
            m += self.data_share * net.sum(
                net.reply("gradient", answers.private), net.w
            )
        return {"x": net.average(models) - self.eta(t) * m, "m": m}, Info(
            batch_info(answers, net)
        )

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The channels of a round; the momentum stays at home."""
        bound = grad.clip.sensitivity
        if not self.data_share:
            moved = None if bound is None else self.lr * bound
            return (
                Release(
                    "model",
                    True,
                    "x: mixed models minus eta m, where m sums perturbed gradients",
                    moved,
                ),
            )
        return (
            Release(
                "model",
                private=False,
                carries="x: mixed models and momenta of perturbed gradients",
            ),
            Release(
                "gradient",
                True,
                "perturbed cross-gradient",
                bound,
                grad.noise_multiplier,
            ),
        )
