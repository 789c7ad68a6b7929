"""GUT, global update tracking: tracking without a second row on the wire.

Round t, agent i, where g~^i_t is its clipped and perturbed gradient at x^i_t:

    D^i_t     = g~^i_t - (1 / eta_t) sum_{j in N_i} w_ij (x^j_t - x^i_t)
    b^i_t     = sum_{j in N_i} w_ij (y^j_t - (1 / eta_t) (x^j_t - x^i_t)) - D^i_t,    b_0 = 0
    y^i_t     = D^i_t + mu b^i_{t-1}
    x^i_{t+1} = x^i_t - eta_t y^i_t

(Aketi, Hashemi and Roy, Global Update Tracking: A Decentralized Learning Algorithm for
Heterogeneous Data, 2023.) All of b belongs to one round, the previous one, as in the authors'
public code for training. The models then cancel:

    b_t = W y_t - g~_t,     x_{t+1} = W x_t - eta_t (g~_t + mu b_{t-1})

so b needs no step size of another round, and eta may decay. With mu = 0 it is D-PSGD. The mean of
all b^i is zero, so the mean of all y^i is the mean of all g~^i. At rest (1 - mu) g~ = (W x - x) /
eta: mu takes that share off the heterogeneity that pulls the models apart, and mu = 1 leaves none.

What we do differently: the paper has neither clipping nor noise. The public code sends the change
of a model; ours sends the new model, and a neighbour, who remembers W x_t, finds W y_t = (W x_t - W
x_{t+1}) / eta_t: one row as well. The public code takes the gradient at the mixed model; ours is
taken at the agent's own, so that mu = 0 is D-PSGD.

Mixing alone is stable only if 1 + (1 + 2 mu) lambda_N > 0, lambda_N the smallest eigenvalue of W,
and a gradient whose derivative is h needs eta h < (1 + (1 + 2 mu) lambda_N) / (1 + mu). Both follow
from z^2 - ((1 + mu) lambda - eta h) z + mu (lambda - eta h) = 0, the equation of a common
eigenvector, at z = -1; the derivation is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.errors import InputError
from dpdl.options import SHARE, Range, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class GUT(Stepped):
    """D-PSGD with a correction to every step.

    It is how far the last step was from those of the neighbours and from the agent's own gradient.
    """

    tracking: float = option(
        0.1,
        "share mu of the last correction that is added to a step",
        check=SHARE,
        search=Range(0, 1),
    )

    disclosure = OwnGradients()
    shows_step = StepShown("model", same_round=True)

    def check(self, graph: Graph) -> None:
        """Refuse a mu with which the models of this graph would drift apart by mixing alone."""
        smallest = float(graph.eigenvalues[-1])
        if 1 + (1 + 2 * self.tracking) * smallest > 1e-9:
            return
        most = (-1 / smallest - 1) / 2
        raise InputError(
            f"With tracking = {self.tracking:g} GUT diverges on this graph, whose weights "
            f"have the eigenvalue {smallest:.3g}: give a tracking below {most:.3g}, or another "
            "graph."
        )

    def init(self, x: Tensor) -> State:
        """No correction in the first round; `wx`, the mixed models, is known after it."""
        return {"x": x, "b": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: the new models. The first round also needs the initial models."""
        x, eta = state["x"], self.eta(t)
        wx = state["wx"] if "wx" in state else net.mix("model", x)
        g, info = self.own_gradient(x, batches, net, grad, t)
        new = wx - eta * (g + self.tracking * state["b"])
        mixed = net.mix("model", new)
        return {"x": new, "wx": mixed, "b": (wx - mixed) / eta - g}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The new model carries the new gradient."""
        bound = (
            None if grad.clip.sensitivity is None else self.lr * grad.clip.sensitivity
        )
        return (
            Release(
                "model",
                True,
                "x - eta y: perturbed gradients only",
                bound,
                grad.noise_multiplier,
            ),
        )
