"""DFedSAM: every agent minimises its loss at the worst model nearby, and mixes every few rounds.

Round t, agent i, both gradients on the same batch:

    g_1 = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z_1)
    g_2 = (1/B) (sum_b clip_C(grad F(x^i + rho g_1 / ||g_1||; zeta^i_b)) + z_2)
    z_1, z_2 ~ N(0, sigma^2 C^2 I)
    m^i <- beta m^i + g_2,   x^i <- x^i - eta m^i
    every local_steps-th round:  x^i <- sum_{j in N_i} w_ij x^j

Shi, Shen, Wei, Sun, Yuan, Wang and Tao, "Improving the Model Consistency of Decentralized Federated
Learning" (2023), which has no privacy. What we do differently: one local step is one round, so
local_steps rounds are one round of the paper. Gradients are clipped and perturbed, and that
includes the ascent direction: a clean g_1 would move the point at which g_2 is taken by up to 2
rho, as far as the records like, and the noise on g_2 is made for a change of C / B at a point that
does not depend on them. With a perturbed g_1 that point is computed from a release. Two releases on
one batch amount to one with noise multiplier sigma / sqrt(2).

Our reading: momentum is local, is not mixed, and goes on after an exchange; weight decay belongs to
the step, not to the ascent. A zero g_1 has no direction: no ascent. The paper's variant with
several gossip steps is not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import (
    Info,
    State,
    Stepped,
    StepShown,
    batch_info,
    local_steps_option,
    momentum_option,
)
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.options import ABOVE_ZERO, Range, option
from dpdl.parallel import each
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class DFedSAM(Stepped):
    """Local sharpness-aware steps with private gradients, then adapt-then-combine gossip."""

    momentum: float = momentum_option()
    local_steps: int = local_steps_option()
    sam_radius: float = option(
        0.01,
        "length rho of the ascent step",
        check=ABOVE_ZERO,
        search=Range(1e-3, 0.1, log=True),
    )

    disclosure = OwnGradients(2)  # the ascent and the step
    shows_step = StepShown("model", same_round=True, at_mixed=True)

    @property
    def period(self) -> int:
        """Models are exchanged in every tau-th round."""
        return self.local_steps

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
        """One local step; one exchange, every local_steps-th round."""
        x = state["x"]
        here = grad.own(x, batches, net.selves, t, purpose="ascent")
        above = grad.own(
            x + ascent(here.private, self.sam_radius), batches, net.selves, t
        )
        m = self.momentum * state["m"] + above.private + self.weight_decay * x
        x = x - self.eta(t) * m
        if t % self.local_steps == 0:
            x = net.mix("model", x)
        first, second = batch_info(here, net), batch_info(above, net)
        broken = first["broken_gradients"] + second["broken_gradients"]
        return {"x": x, "m": m}, Info(
            {**second, "train_loss": first["train_loss"], "broken_gradients": broken}
        )

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Models, with the sensitivity of the step.

        It is declared for a given ascent direction, which is a release before it.
        """
        moves = (
            None if grad.clip.sensitivity is None else self.lr * grad.clip.sensitivity
        )
        what = (
            "x - eta m: two perturbed gradients a round, the second at a model that the "
            "first has moved"
        )
        return (Release("model", True, what, moves, grad.noise_multiplier),)


def ascent(g: Tensor, radius: float) -> Tensor:
    """Every row of g at length `radius`; a zero row has no direction and stays zero."""
    out = g.new_zeros(g.shape)

    def one(k: int) -> None:
        # A copy is aligned alike on every placement, so its norm has the same bits.
        row = g[k].clone()
        norm = float(row.norm())
        if norm > 0:
            out[k] = row * (radius / norm)

    each(one, range(len(g)))
    return out
