"""PDSL: cross-gradients, weighted by what each adds to the accuracy on public records.

Round t, agent i, with x = x^i, v = v^i:

    g_ddot^{ij} = (1/B) (sum_b clip_C(grad F(x^i; zeta^j_b)) + z^{ij})
    z^{ij} ~ N(0, sigma^2 C^2 I)
    a(S)    = accuracy on the public records of (1/|S|) sum_{j in S} (x - eta g_ddot^{ij}),
              a({}) = accuracy of x
    phi^{ij} = mean over some orders of N_i of  a(those before j, and j) - a(those before j)
    pi^{ij} = max(0, phi^{ij}) / sum_{k in N_i} max(0, phi^{ik}),
              or 1 / |N_i| if no value is positive
    v~      = beta v + sum_{j in N_i} pi^{ij} g_ddot^{ij},   x~ = x - eta v~
    v, x   <- sum_{j in N_i} w_ij v~^j,  sum_{j in N_i} w_ij x~^j

Wang, Yuan, Wang and Li, "PDSL: Privacy-Preserved Decentralized Stochastic Learning with
Heterogeneous Data Distribution" (2025). From the paper: perturbed cross-gradients, Shapley values
of the neighbours by Monte-Carlo orders on public validation records, gradients weighted by the
normalised values, momentum and gossip. Our reading: the value of an empty coalition, the
normalisation, and the weights when no value is positive. When all orders are not more than
`permutations`, each is taken once and the values are exact. As in `dpdl`, a neighbour that holds
x^i and receives v~^i computes x~^i itself.

The self-gradient in the update is the perturbed one and the validation records are public, so
everything that leaves agent j is computed from its |N_j| Gaussian releases of the round.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

from dpdl.algorithms.base import (
    Info,
    State,
    Stepped,
    batch_info,
    momentum_option,
)
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.options import AT_LEAST_ONE, SEED, Value, option
from dpdl.parallel import each
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.net import Net, Part
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch

NO_RECORDS = (
    "pdsl needs public validation records: give validation, e.g. --validation 500."
)
ROUNDING = 1e-9
"""A smaller value is rounding: an accuracy is a number of records over their number."""


@final
@dataclass(frozen=True)
class PDSL(Stepped):
    """Cross-gradients weighted by Shapley values, with momentum."""

    momentum: float = momentum_option()
    permutations: int = option(
        8, "orders of the neighbours that are tried", check=AT_LEAST_ONE
    )
    validation: int = option(
        0,
        "public records that are held out of the training data; it needs some",
        check=SEED,
    )
    seed: int = field(default=0, repr=False)

    answers_neighbours = True
    compressible = True
    disclosure = CrossGradients()
    example: ClassVar[Mapping[str, Value]] = {"validation": 100}

    def __post_init__(self) -> None:
        self.check_steps()
        if self.validation < 1:
            raise InputError(NO_RECORDS)

    @property
    def public_records(self) -> int:
        """On which Shapley values are computed."""
        return self.validation

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
        """Three exchanges: models, cross-gradients, momenta."""
        x = state["x"]
        models = net.send("model", x)
        asked = grad.asked(models, batches, net.visits, t)

        def weighted(part: Part) -> dict[str, Tensor]:
            g = part.reply("gradient", asked.answers(part.numbers).private)
            weight = self.contributions(x[part.rows], g, part, grad, t)
            return {"g": part.sum(g, weight), "own_weight": weight[part.own]}

        found = net.by_part(x.shape[1], weighted)
        v = self.momentum * state["v"] + found.pop("g") + self.weight_decay * x
        eta = self.eta(t)
        momenta = net.send("momentum", v)
        mixed = {
            "x": net.average(models.combine(momenta, lambda x, v: x - eta * v)),
            "v": net.average(momenta),
        }
        return mixed, Info({**batch_info(asked, net), **found})

    def contributions(
        self, x: Tensor, g: Tensor, net: Part, grad: PrivateGradient, t: int
    ) -> Tensor:
        """The weight pi of every ask, from models x (agents, D) and gradients g (asks, D)."""
        accuracy = grad.validate
        if accuracy is None:
            raise InputError(NO_RECORDS)
        weight = net.w.new_zeros(len(g))
        eta = self.eta(t)

        def one(a: int) -> None:
            asks = (net.i == a).nonzero().flatten()  # neighbours in ascending order

            def value(coalition: frozenset[int]) -> float:
                row = x[a].clone()
                if coalition:
                    row -= eta * g[asks[sorted(coalition)]].mean(0)
                return accuracy(row)

            orders = self.orders(len(asks), int(net.agents[a]), t)
            weight[asks] = weight.new_tensor(shares(shapley(len(asks), value, orders)))

        each(one, range(len(net.agents)))
        return weight

    def orders(self, players: int, agent: int, t: int) -> list[tuple[int, ...]]:
        """The orders that an agent tries in round t: all if they are few, else a public draw."""
        if math.factorial(players) <= self.permutations:
            return list(itertools.permutations(range(players)))
        draw = generator(self.seed, "shapley", t, agent)
        return [
            tuple(draw.permutation(players).tolist()) for _ in range(self.permutations)
        ]

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The three channels of a round."""
        return (
            Release(
                "model", private=False, carries="x: mixed models of earlier rounds"
            ),
            Release(
                "gradient",
                True,
                "perturbed cross-gradient",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
            Release(
                "momentum",
                private=False,
                carries="beta v + g~: perturbed gradients and public records only",
            ),
        )


def shapley(
    players: int,
    value: Callable[[frozenset[int]], float],
    orders: Sequence[tuple[int, ...]],
) -> list[float]:
    """What each player adds to those before it, on average over the orders.

    A coalition is evaluated once.

    The values sum to value(all) - value(nobody) for any orders, and with all orders they are the
    Shapley values.
    """
    known: dict[frozenset[int], float] = {}
    total = [0.0] * players
    for order in orders:
        for k, player in enumerate(order):
            before, after = frozenset(order[:k]), frozenset(order[: k + 1])
            for coalition in (before, after):
                if coalition not in known:
                    known[coalition] = value(coalition)
            total[player] += known[after] - known[before]
    return [one / len(orders) for one in total]


def shares(values: Sequence[float]) -> list[float]:
    """The positive values as shares of their sum; equal shares when none is positive."""
    positive = [value if value > ROUNDING else 0.0 for value in values]
    total = sum(positive)
    return (
        [value / total for value in positive]
        if total > 0
        else [1 / len(values)] * len(values)
    )
