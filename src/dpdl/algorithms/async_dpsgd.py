"""A(DP)^2SGD: one agent at a time steps along its gradient and averages with one neighbour.

Round t is one tick. Agent a is active, b is one of its neighbours, drawn by everybody alike:

    g    = (1/B) (sum_k clip_C(grad F(x^a; zeta^a_k)) + z),  z ~ N(0, sigma^2 C^2 I)
    x^b <- (x^a + x^b) / 2
    x^a <- (x^a + x^b) / 2 - eta g          (with x^b from before the tick)

All other agents keep their models and send nothing. a is uniform over the agents, b over the
neighbours of a. The weights of W are not used, only who is a neighbour of whom.

Xu, Zhang and Wang, "A(DP)^2SGD: Asynchronous Decentralized Parallel Stochastic Gradient Descent
with Differential Privacy" (2020): AD-PSGD of Lian et al. (2018) with the Gaussian mechanism. What
we do differently: the ticks follow a public order instead of the speed of the agents, so that a run
can be repeated and accounted for; and the gradient is taken at the model of the same tick, while in
the papers others may have averaged into it since. Every sample is clipped; the original bounds
gradients by assumption. That a meets exactly one neighbour, and that both keep half of each other's
model, is the default of AD-PSGD; its theory allows other doubly stochastic matrices.

What leaves in a tick are the two models as they were before it. The gradient of a tick leaves in a
later one, when its owner meets somebody, but is paid for when it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info, State, Stepped, StepShown, batch_info
from dpdl.algorithms.disclosure import Activated
from dpdl.graph.matrix import pair
from dpdl.keys import generator
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import Answers, PrivateGradient
    from dpdl.types import Batch


@final
@dataclass(frozen=True)
class AsyncDPSGD(Stepped):
    """AD-PSGD with private gradients, in a public order of ticks."""

    seed: int = field(default=0, repr=False)

    shows_step = StepShown(
        hidden_because="an agent talks in few rounds, and its steps show between those, "
        "not between two recorded ones"
    )
    needs_shared_seed = "whose turn it is is drawn from the seed"

    @property
    def disclosure(self) -> Activated:
        """An agent pays for the ticks in which it is active."""
        return Activated(self.seed)

    def meeting(self, graph: Graph, t: int) -> tuple[int, int | None]:
        """The active agent of tick t, and its neighbour, if any: public, the same for all."""
        a = self.disclosure.agent(graph, t)
        around = [int(j) for j in graph.neighbours(a) if j != a]
        if not around:
            return a, None
        chosen = generator(self.seed, "partner", t).integers(len(around))
        return a, around[chosen]

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
        """One exchange, between two agents."""
        a, b = self.meeting(net.graph, t)
        x = state["x"]
        answers = _answer_of(a, x, batches, net, grad, t)
        moved = average_of_pair(net.on(pair(net.N, a, b)), x)
        here = answers.visits.host  # empty where the active agent is not hosted
        moved[here] -= self.eta(t) * (answers.private + self.weight_decay * x[here])
        return {"x": moved}, Info(batch_info(answers, net))

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Models, with every perturbed gradient that went into them."""
        moves = (
            None if grad.clip.sensitivity is None else self.lr * grad.clip.sensitivity
        )
        what = "x: perturbed gradients of the ticks in which its owner was active, and of others"
        return (Release("model", True, what, moves, grad.noise_multiplier),)


def _answer_of(
    a: int, x: Tensor, batches: Sequence[Batch], net: Net, grad: PrivateGradient, t: int
) -> Answers:
    """The gradient of agent a alone; no answer at all where it is not hosted."""
    here = net.agents == a
    visits = net.selves._replace(
        edges=net.selves.edges[here], host=net.selves.host[here]
    )
    only = [batches[k] for k in visits.host.tolist()]
    # Agent a is the only one whose gradient is computed, so its row is row 0.
    alone = visits._replace(host=visits.host.new_zeros(len(only)))
    return grad.own(x[here], only, alone, t)._replace(visits=visits)


def average_of_pair(net: Net, x: Tensor) -> Tensor:
    """Every agent's mean over its neighbours on a graph of one pair: W x, at the cost of two rows.

    `net.mix` would give the same, after touching the rows of all agents.
    """
    sent = net.send("model", x)
    mixed = x.clone()
    met = net.visits.edges[:, 0] != net.visits.edges[:, 1]
    for at, host in zip(
        sent.at[met].tolist(), net.visits.host[met].tolist(), strict=True
    ):
        mixed[host] = (x[host] + sent.rows[at]) / 2
    return mixed
