"""What rounds give away whose mechanisms were chosen by looking at what earlier ones gave away.

Composition theorems take the parameters of all rounds as fixed beforehand. Whoever sees the result
of one run and then plans the next one chooses them by what was seen, and stopping when the composed
(epsilon, delta) reaches a budget is not enough: given an unlucky first run, one may choose the
second such that it is the worst one for just that luck. For the Rényi divergence of one order,
fixed before the first round, it is enough (Feldman and Zrnic 2021, arXiv 2008.11193): if the
divergences of all rounds never add up to more than R, whatever was chosen, the whole has divergence
R. So

    epsilon = sum of the divergences of order a + log(1 - 1/a) - log(a delta) / (a - 1),

with the one order a for which a budget affords most Gaussian rounds. A record replaced is one
removed and one added: by the triangle inequality of Rényi divergences (Mironov 2017, arXiv
1702.07476, Proposition 11) its divergence of order a is at most
(a - 1/2) / (a - 1) D(2 a) + D(2 a - 1).
"""

from __future__ import annotations

import math
from functools import lru_cache

from dpdl.errors import InputError
from dpdl.privacy.accounting import SMALLEST_SIGMA, Step, Steps
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.renyi import ORDERS, at_order, fixed_size

SHARE = 0.01
"""Of delta, kept for rounds whose proofs may fail."""


def filtered_epsilon(
    steps: Steps, budget: float, delta: float, relation: str = "add-remove"
) -> float:
    """The epsilon of steps that were chosen one after the other, for a budget fixed beforehand.

    It is proven if it was at most `budget` at all times. Infinity when a step has no noise, or when
    proofs fail with more than a hundredth of delta.
    """
    if relation not in CHANGES:
        raise InputError(
            f"relation must be one of {', '.join(CHANGES)}, not {relation!r}."
        )
    released = [(step, n) for step, n in steps if n and math.isfinite(step.sigma)]
    lost = math.fsum(step.lost * count for step, count in steps)
    if not released and not lost:
        return 0.0
    if lost > SHARE * delta or any(s.sigma < SMALLEST_SIGMA for s, _ in released):
        return math.inf
    order = order_for(budget, delta)
    spent = math.fsum(n * divergence(step, order, relation) for step, n in released)
    return spent + _price(order, delta)


@lru_cache(maxsize=1024)
def order_for(budget: float, delta: float) -> int:
    """The order at which a budget affords most Gaussian rounds; it depends on nothing else."""
    return int(max(ORDERS, key=lambda a: (budget - _price(a, delta)) / a))


def _price(order: int, delta: float) -> float:
    """What an order adds to the divergence."""
    room = (1 - SHARE) * delta
    return math.log1p(-1 / order) - math.log(room * order) / (order - 1)


@lru_cache(maxsize=1024)
def divergence(step: Step, order: int, relation: str) -> float:
    """The Rényi divergence of one step, of one order, either way round."""
    if step.fixed:
        if relation == "add-remove":
            raise InputError(
                "Batches of fixed size are accounted for under replace-one only."
            )
        # A record replaced moves the sum by 2 C.
        return float(fixed_size(step.rate, step.sigma / 2)[ORDERS.index(order)])
    if relation == "add-remove":
        return at_order(order, step.rate, step.sigma)
    if step.rate >= 1:
        return at_order(order, step.rate, step.sigma / 2)
    first = at_order(2 * order, step.rate, step.sigma)
    second = at_order(2 * order - 1, step.rate, step.sigma)
    return (order - 0.5) / (order - 1) * first + second
