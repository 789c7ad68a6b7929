"""Epidemic learning: a step, then averaging with agents that are drawn anew in every round.

Round t: every agent draws s of its neighbours, and a pair talks if one of them drew the other. With
W_t the Metropolis weights of the pairs that talk,

    g~^j = (1/B) (sum_b clip_C(grad F(x^j; zeta^j_b)) + z^j)
    x^i <- sum_j w_ij(t) (x^j - eta g~^j)

The draws are public: all agents make them alike. On a complete graph anybody may meet anybody.

De Vos, Farhadkhani, Guerraoui, Kermarrec, Pires, Sharma, Epidemic Learning: Boosting Decentralized
Learning with Randomized Communication (2023), EL-Local. What we do differently: the paper has
neither clipping nor noise. There a drawn agent is only sent to, and every agent averages what
arrived with equal weights, which does not keep the mean of the models; here talking is mutual and
W_t is symmetric, so that the mean is kept and every agent sends between s and its degree rows. Who
is drawn is limited to the neighbours on the experiment's graph.

All that leaves agent i in a round is computed from one Gaussian release on its batch and from what
others sent. That fewer hear of it is not counted as protection: no amplification by random
communication is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.algorithms.base import Info, State, Stepped, StepShown
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.graph.matrix import moment
from dpdl.graph.weights import metropolis
from dpdl.keys import generator
from dpdl.options import AT_LEAST_ONE, Range, option
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class Epidemic(Stepped):
    """Another sparse graph in every round."""

    fanout: int = option(
        2,
        "neighbours s that every agent draws in a round",
        check=AT_LEAST_ONE,
        search=Range(1, 8),
    )
    seed: int = field(default=0, repr=False)

    disclosure = OwnGradients()
    shows_step = StepShown(
        hidden_because="the agents that talk are other ones in every round, and a step shows "
        "against the weights of the round before"
    )
    needs_shared_seed = "who talks to whom is drawn from the seed"

    def meetings(self, graph: Graph, t: int) -> Graph:
        """Who talks to whom in round t, and with which weight: public, the same for all."""
        pattern = np.zeros((len(graph), len(graph)), dtype=bool)
        for i in range(len(graph)):
            around = graph.neighbours(i)
            around = around[around != i]
            draw = generator(self.seed, "meeting", t, i)
            met = draw.permutation(around)[: self.fanout]
            pattern[i, met] = pattern[met, i] = True
        return moment(metropolis(pattern))

    def init(self, x: Tensor) -> State:
        """Nothing but the models is remembered."""
        return {"x": x}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange, on the graph of the round."""
        x = state["x"]
        g, info = self.own_gradient(x, batches, net, grad, t)
        now = net.on(self.meetings(net.graph, t))
        return {"x": now.mix("step", x - self.eta(t) * g)}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The stepped model carries the new gradient."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "step", True, "x - eta g~: mixed models", moved, grad.noise_multiplier
            ),
        )
