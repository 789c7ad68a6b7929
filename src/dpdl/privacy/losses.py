"""Epsilon of Gaussian rounds by privacy-loss distributions: tight, and rounded up to a grid.

dp-accounting puts the loss of one round on a grid by "connect the dots" (Doroshenko and others
2022, arXiv 2207.04380): the divergences are exact at the grid's points and joined by chords above
the true curve, which is convex, so the result dominates the true distribution. Distributions of
rounds are then convolved. Each round gains a variance of about grid^2 / 6. Over any number of
rounds epsilon is therefore too large by about one part in

    12 (deviation of the loss of one round / grid)^2,

and the grid has to fit the deviation: q sqrt(exp(1 / sigma^2) - 1) when q is small. A third of it
costs 1 percent, a tenth a part in 1,000. Finer still would not help: the masses are differences of
doubles, and each round's masses gain about 1e-16 / grid.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from dpdl.privacy import group, renyi
from dpdl.privacy.renyi import Rounds
from dpdl.privacy.sampled_loss import sampled_gaussian

# The default grids, and the epsilon from which each is fine enough.
GRIDS = ((1e-2, 30.0), (1e-3, 3.0), (1e-4, 0.0))
COARSE = (0.1, COARSEST := 1.0)  # where losses are too large for the default ones
GOOD = 3  # points in one deviation that make a default grid good enough
FINE = 10  # points in one deviation of the grid that is taken otherwise
WORTH = 0.99  # what replaces the value on a default grid is smaller by this factor
MOST_POINTS = 300_000  # of a grid: about two seconds
MOST_ROUNDS = 10_000_000  # that are convolved: about half a minute
FINEST = 1e-7  # a grid finer than this drowns in rounding
OVERFLOWING = (650.0, 750.0)  # epsilons between which exp(epsilon) leaves the doubles
CLOSE = 1e-3  # how far above the smallest one such an epsilon may be
NOISE = 1e-15  # what double precision can change in delta, per convolution


@lru_cache(maxsize=4096)
def epsilon(rounds: tuple[Rounds, ...], delta: float, relation: str) -> float:
    """An upper bound on epsilon.

    The value on a default grid, unless that grid is too coarse for the losses and a fitting grid or
    Rényi DP is better by more than 1 percent.
    """
    found, grid = _on_default_grids(rounds, delta, relation)
    if GOOD * grid <= _deviation(rounds, relation):
        return found
    better = _without_grid(rounds, delta, relation)
    fitting = _fitting_grid(rounds, relation)
    if fitting < grid and _affordable(rounds, relation, fitting):
        better = min(better, _on_grid(rounds, delta, relation, fitting))
    return better if better < WORTH * found else found


@lru_cache(maxsize=4096)
def adaptive_epsilon(rounds: tuple[Rounds, ...], delta: float, lost: float) -> float:
    """An upper bound for a record replaced (see `group`).

    It holds whatever later releases of a round make of earlier ones.
    """
    curve = renyi.poisson(rounds)
    found = group.epsilon(lambda e: renyi.delta(curve, e) + lost, delta)
    grid = _fitting_grid(rounds, "add-remove")
    if not _affordable(rounds, "add-remove", grid):
        return found
    distribution, beyond = (
        _distribution(rounds, "add-remove", grid),
        lost + _noise(rounds),
    )
    return min(
        found,
        group.epsilon(
            lambda e: float(distribution.get_delta_for_epsilon(e)) + beyond, delta
        ),
    )


def _on_default_grids(
    rounds: tuple[Rounds, ...], delta: float, relation: str
) -> tuple[float, float]:
    """The value, and the grid it was found on."""
    found, used = math.inf, math.inf
    for grid, enough in GRIDS:
        if not _affordable(rounds, relation, grid):
            break
        found, used = _on_grid(rounds, delta, relation, grid), grid
        if found > enough:
            break
    if used == math.inf:
        for grid in filter(lambda grid: _affordable(rounds, relation, grid), COARSE):
            return _on_grid(rounds, delta, relation, grid), grid
    return found, used


def _on_grid(
    rounds: tuple[Rounds, ...], delta: float, relation: str, grid: float
) -> float:
    noise = _noise(rounds)
    room = delta if 1000 * noise < delta else delta - noise
    if room <= 0:
        return math.inf
    distribution = _distribution(rounds, relation, grid)
    with np.errstate(over="ignore"):
        found = float(distribution.get_epsilon_for_delta(room))
    return found if found < math.inf else _by_bisection(distribution, room)


def _by_bisection(distribution: Any, delta: float) -> float:
    """For an epsilon near 720, whose exponential the library divides by; infinity if it is none."""
    low, high = OVERFLOWING
    if distribution.get_delta_for_epsilon(high) > delta:
        return math.inf
    while high - low > CLOSE:
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if distribution.get_delta_for_epsilon(middle) <= delta
            else (middle, high)
        )
    return high


def _without_grid(rounds: tuple[Rounds, ...], delta: float, relation: str) -> float:
    """By Rényi DP."""
    if relation == "add-remove":
        return renyi.epsilon(renyi.poisson(rounds), delta)
    if all(r.rate >= 1 for r in rounds):
        return renyi.epsilon(renyi.poisson(rounds, 2.0), delta)
    curve = renyi.poisson(rounds)
    return group.epsilon(lambda e: renyi.delta(curve, e), delta)


def _distribution(rounds: tuple[Rounds, ...], relation: str, grid: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as known

    total = known.identity(grid)
    for r in rounds:
        total = total.compose(_composed(r, relation, grid))
    return total


def _composed(r: Rounds, relation: str, grid: float) -> Any:
    """All of these rounds; at rate 1 they are one Gaussian."""
    from dp_accounting.pld import privacy_loss_distribution as known

    if r.rate < 1 and relation == "add-remove":
        return sampled_gaussian(r.sigma, r.rate, grid).self_compose(r.count)
    full = r.rate >= 1
    once = known.from_gaussian_mechanism(
        r.sigma / math.sqrt(r.count) if full else r.sigma,
        value_discretization_interval=grid,
        sampling_prob=min(r.rate, 1.0),
        neighboring_relation=neighbouring(relation),
    )
    return once if full else once.self_compose(r.count)


def neighbouring(relation: str) -> Any:
    """A relation as dp-accounting names it."""
    from dp_accounting import NeighboringRelation as Known

    return {"add-remove": Known.ADD_OR_REMOVE_ONE, "replace-one": Known.REPLACE_ONE}[
        relation
    ]


def _roundings(rounds: tuple[Rounds, ...]) -> int:
    """How many distributions are convolved; rounds at rate 1 are one Gaussian together."""
    return sum(1 if r.rate >= 1 else r.count for r in rounds)


def _noise(rounds: tuple[Rounds, ...]) -> float:
    return NOISE * _roundings(rounds)


def _deviation(rounds: tuple[Rounds, ...], relation: str) -> float:
    """The deviation of the loss in what is put on the grid at once, on average."""
    return math.sqrt(
        sum(r.count * _variance(r, relation) for r in rounds) / _roundings(rounds)
    )


def _variance(r: Rounds, relation: str) -> float:
    """About the variance of the loss of one round; only the choice of a grid depends on it."""
    square = 1 / r.sigma**2
    small = min(square, 100.0)  # beyond it the other bound is smaller at any rate
    if relation == "add-remove":
        return min(r.rate**2 * math.expm1(small), square)
    return min(4 * r.rate**2 * math.sinh(small), 4 * square)


def _width(rounds: tuple[Rounds, ...], relation: str) -> float:
    """About the range of losses, of one round and of all, that a distribution has to hold."""
    total = math.sqrt(sum(r.count * _variance(r, relation) for r in rounds))
    return 20 * total + max(_reach(r, relation) for r in rounds)


def _reach(r: Rounds, relation: str) -> float:
    """About the largest loss of one round, ten deviations of the noise out.

    At rate 1 all rounds count as one. A record replaced can lose what a removed one loses, and then
    what an added one loses.
    """
    move = math.sqrt(r.count if r.rate >= 1 else 1) / r.sigma
    full = 10 * move + move**2 / 2
    once = (
        math.log1p(r.rate * math.expm1(full)) if full < 500 else full + math.log(r.rate)
    )
    return once if relation == "add-remove" else 2 * once


def _affordable(rounds: tuple[Rounds, ...], relation: str, grid: float) -> bool:
    """Whether a grid is worth its time and memory."""
    points = _width(rounds, relation) / grid
    return (
        grid <= COARSEST
        and points <= 1.001 * MOST_POINTS
        and _roundings(rounds) <= MOST_ROUNDS
    )


def _fitting_grid(rounds: tuple[Rounds, ...], relation: str) -> float:
    wanted = min(
        _deviation(rounds, relation) / FINE, 0.1
    )  # a larger one rounds up by more than its square says
    return max(wanted, _width(rounds, relation) / MOST_POINTS, FINEST)
