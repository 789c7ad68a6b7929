"""Decentralized ADMM, linearised: the augmented Lagrangian by one private gradient step a round.

The agents minimise sum_i f_i(x^i) subject to x^i = x^j on every link. Round t, agent i, with a
multiplier y^i (the sum of those of its links), y_0 = 0, and d^i = x^i - sum_{j in N_i} w_ij x^j:

    y <- y + (kappa / eta) d
    x <- x - eta (g~ + y) - kappa d

with g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i), z^i ~ N(0, sigma^2 C^2 I). It is
consensus ADMM, with the penalty c w_ij on every link, c = kappa / eta, in which f_i is replaced by
its tangent at x^i and a proximal term of weight 1 / eta - 2 c (1 - w_ii) is added: DLM of Ling,
Shi, Wu, Ribeiro (DLM: Decentralized Linearized Alternating Direction Method of Multipliers,
2015). For kappa <= 1/2, the most that is allowed, this weight is at least zero on every graph.
Mixing alone is then stable: an eigenvalue l of W gives the equation
z^2 - 2 (1 - s) z + (1 - s) = 0 with s = kappa (1 - l) <= 1, and |z|^2 = 1 - s.

At rest x^i = x^j and g^i = -y^i. The y sum up to zero, so the agents settle at the common optimum.

The noise is that of gradient perturbation, as in Huang, Gong, Differentially Private ADMM for
Convex Distributed Learning: Improved Accuracy via Multi-Step Approximation (2020). What we do
differently: one gradient step on a Poisson batch stands for the minimisation of a round, where they
take several on all records; the objective need not be convex, but nothing is proven of convergence
then; and rounds are accounted for by privacy-loss distributions with sampling.

All that leaves agent i is computed from one Gaussian release a round and from what others sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.options import Check, Range, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch

KAPPA = Check(lambda v: 0 < v <= 0.5, "above 0 and at most 0.5")


@final
@dataclass(frozen=True)
class ADMM(Stepped):
    """A primal step, and a dual step along the disagreement."""

    penalty: float = option(
        0.5,
        "penalty kappa of the disagreement, times the step size",
        check=KAPPA,
        search=Range(0.05, 0.5, log=True),
    )
    disclosure = OwnGradients()

    def init(self, x: Tensor) -> State:
        """Multipliers start at zero."""
        return {"x": x, "y": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: models. The new gradient shows in the models of the next round."""
        x, eta = state["x"], self.eta(t)
        apart = self.penalty * (x - net.mix("model", x))
        y = state["y"] + apart / eta
        g, info = self.own_gradient(x, batches, net, grad, t)
        return {"x": x - eta * (g + y) - apart, "y": y}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The models carry the gradients of the rounds before."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "model",
                True,
                "x: minus eta g~ of the last round, and multipliers of what was heard",
                moved,
                grad.noise_multiplier,
            ),
        )
