"""Partitions: rules that divide labelled records among agents.

A rule gives disjoint index arrays, one per agent. `n` is the number of records, `N` the number of
agents, `n_c` the number of records of class `c`. All randomness is addressed by `(seed, purpose,
...)`, so a partition depends on its arguments alone.

`dirichlet-agent` follows Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data
Distribution for Federated Visual Classification" (2019): agents draw class mixes. In
`dirichlet-class`, common in public code, each class is divided among the agents instead. `shards`
follows McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data"
(2017), except that all records of a shard have one class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdl.errors import InputError, unknown
from dpdl.keys import generator

if TYPE_CHECKING:
    from torch import Tensor

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

REDRAWS = 1000


@dataclass(frozen=True)
class Request:
    """What a rule needs to know: the labels, and how to divide them."""

    y: Indices
    agents: int
    alpha: float
    least: int
    seed: int
    classes_per_agent: int


Rule = Callable[[Request], list[Indices]]


def partition(
    rule: str,
    y: Tensor | NDArray[np.integer],
    agents: int,
    *,
    alpha: float,
    least: int,
    seed: int,
    classes_per_agent: int = 2,
) -> list[Indices]:
    """One sorted index array per agent, disjoint, each with at least `least` records.

    `alpha` is the concentration of the Dirichlet rules: small is heterogeneous, large is nearly
    IID. Rules that do not use `alpha` or `classes_per_agent` ignore it.
    """
    if rule not in RULES:
        raise unknown("partition", rule, RULES)
    labels = _labels(y)
    _check_count("agents", agents)
    _check_count("least", least)
    _check_count("classes_per_agent", classes_per_agent)
    if not math.isfinite(alpha) or alpha <= 0:
        raise InputError(
            f"alpha must be a finite number greater than 0, not {alpha!r}."
        )
    if agents * least > len(labels):
        raise InputError(
            f"{len(labels)} records cannot give {agents} agents at least {least} each: "
            f"at most {len(labels) // least} agents are possible."
        )
    request = Request(
        labels, int(agents), float(alpha), int(least), seed, int(classes_per_agent)
    )
    parts = RULES[rule](request)
    smallest = min(len(part) for part in parts)
    if smallest < least:
        raise InputError(
            f"The partition {rule} leaves an agent with {smallest} records, fewer than {least}: "
            "use fewer agents or a smaller least."
        )
    return [np.sort(part) for part in parts]


def class_counts(
    parts: Sequence[NDArray[np.integer]], y: Tensor | NDArray[np.integer], classes: int
) -> NDArray[np.int64]:
    """How many records of each class each agent holds, shape `(agents, classes)`."""
    labels = _labels(y)
    if int(labels.max()) >= classes:
        raise InputError(
            f"classes must be greater than the largest label {labels.max()}, not {classes}."
        )
    return np.stack(
        [np.bincount(labels[part], minlength=classes) for part in parts]
    ).astype(np.int64)


def iid(request: Request) -> list[Indices]:
    """Equal sizes floor(n/N), records drawn uniformly; n mod N records remain unused."""
    order = generator(request.seed, "partition").permutation(len(request.y))
    size = len(order) // request.agents
    return list(order[: size * request.agents].reshape(request.agents, size))


def quantity(request: Request) -> list[Indices]:
    """Records drawn uniformly, in sizes `least + p_i (n - N least)`, rounded; `p ~ Dir(alpha)`."""
    draw = generator(request.seed, "partition")
    share = _dirichlet(draw, request.alpha, request.agents, 1)
    spare = len(request.y) - request.agents * request.least
    sizes = request.least + _counts(share, np.array([spare]))[0]
    order = draw.permutation(len(request.y))
    return np.split(order, np.cumsum(sizes)[:-1])


def dirichlet_class(request: Request) -> list[Indices]:
    """Each class c is divided by its own `p_c ~ Dir(alpha)`: agent i gets `p_ci n_c`, rounded.

    The whole partition is drawn again until every agent has at least `least` records, at most 1000
    times.
    """
    classes, sizes = np.unique(request.y, return_counts=True)
    for attempt in range(REDRAWS):
        draw = generator(request.seed, "partition", attempt)
        counts = _counts(
            _dirichlet(draw, request.alpha, request.agents, len(classes)), sizes
        )
        if counts.sum(axis=0).min() >= request.least:
            return _deal(request, classes, counts)
    raise InputError(
        f"In {REDRAWS} draws with alpha={request.alpha:g}, no split gave each of {request.agents} "
        f"agents at least {request.least} records: use a larger alpha, fewer agents, a smaller "
        "least, or the partition dirichlet-agent."
    )


def dirichlet_agent(request: Request) -> list[Indices]:
    """Equal sizes m = floor(n/N), records drawn from each agent's class mix `q_i ~ Dir(alpha)`.

    Records are dealt one at a time, to the agents in a random order in which each has m turns. A
    turn draws a class from q_i restricted to the classes that have records left, renormalised; if
    q_i puts no weight on those, in proportion to the records left. So a popular class runs out for
    all agents at once, as in the public code of the DPDL paper; dealing to one agent after the
    other would make them less alike. n mod N records remain unused.
    """
    classes = np.unique(request.y)
    draw = generator(request.seed, "partition")
    mixes = _dirichlet(draw, request.alpha, len(classes), request.agents)
    return dealt_by_mixes(request, mixes, draw)


def dealt_by_mixes(
    request: Request, mixes: Floats, draw: np.random.Generator
) -> list[Indices]:
    """The records of `dirichlet_agent` for given class mixes, (agents, classes)."""
    classes, left = np.unique(request.y, return_counts=True)
    turns = draw.permutation(
        np.repeat(np.arange(request.agents), len(request.y) // request.agents)
    )
    counts = np.zeros((len(classes), request.agents), dtype=np.int64)
    while len(turns):  # once more whenever a class has run out
        picks = _pick(draw, _restricted(mixes, left), turns)
        over = [np.flatnonzero(picks == c)[count:][:1] for c, count in enumerate(left)]
        valid = min((int(first[0]) for first in over if len(first)), default=len(turns))
        np.add.at(counts, (picks[:valid], turns[:valid]), 1)
        left = left - np.bincount(picks[:valid], minlength=len(classes))
        turns = turns[valid:]
    return _deal(request, classes, counts)


def shards(request: Request) -> list[Indices]:
    """Each agent gets k = `classes_per_agent` shards of one class each, of nearly equal sizes.

    Of the `S = N k` shards, class c has about `S n_c / n` (largest remainders, at least one), whose
    sizes differ by at most one. The shards are dealt in random order.
    """
    classes, sizes = np.unique(request.y, return_counts=True)
    total = request.agents * request.classes_per_agent
    if total < len(classes):
        needed = -(-len(classes) // request.agents)
        raise InputError(
            f"{request.agents} agents with {request.classes_per_agent} classes each cannot hold "
            f"{len(classes)} classes: use at least {needed} classes per agent."
        )
    pieces: list[Indices] = []
    for label, count in zip(classes, _apportion(sizes, total), strict=True):
        pieces.extend(np.array_split(_shuffled(request, int(label)), count))
    order = generator(request.seed, "partition").permutation(total)
    dealt = order.reshape(request.agents, -1)
    return [np.concatenate([pieces[shard] for shard in row]) for row in dealt]


RULES: dict[str, Rule] = {
    "dirichlet-class": dirichlet_class,
    "dirichlet-agent": dirichlet_agent,
    "iid": iid,
    "shards": shards,
    "quantity": quantity,
}

DESCRIPTIONS: dict[str, str] = {
    "dirichlet-class": "each class is divided over the agents by Dir(alpha); sizes differ",
    "dirichlet-agent": "each agent draws its class mix from Dir(alpha); equal sizes",
    "iid": "every agent has the same class mix and the same size",
    "shards": "each agent holds at most classes_per_agent classes; about equal sizes",
    "quantity": "the same class mix everywhere; sizes from Dir(alpha)",
}


def _labels(y: Tensor | NDArray[np.integer]) -> Indices:
    labels = np.asarray(y)
    if (
        labels.ndim != 1
        or labels.size == 0
        or labels.dtype.kind not in "iu"
        or labels.min() < 0
    ):
        raise InputError(
            "Labels must be one non-empty row of whole numbers from 0, not "
            f"{labels.dtype} {labels.shape}."
        )
    return labels.astype(np.int64)


def _check_count(name: str, value: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, not {value!r}.")


def _shuffled(request: Request, label: int) -> Indices:
    """The records of one class in random order."""
    draw = generator(request.seed, "partition-records", label)
    return draw.permutation(np.flatnonzero(request.y == label).astype(np.int64))


def _dirichlet(
    draw: np.random.Generator, alpha: float, length: int, rows: int
) -> Floats:
    # In logarithms, because Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha) underflows to 0/0 for a
    # small alpha. Below 1e-300 even the logarithms overflow; there one entry has all the weight.
    alpha = max(alpha, 1e-300)
    uniform = 1.0 - draw.random((rows, length))
    logs = (
        np.log(draw.standard_gamma(alpha + 1.0, (rows, length)))
        + np.log(uniform) / alpha
    )
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def _counts(shares: Floats, sizes: NDArray[np.int64]) -> Indices:
    """Whole numbers near `shares * sizes[:, None]`, whose rows add up to `sizes`.

    They are differences of rounded sums.
    """
    edges = np.rint(np.cumsum(shares, axis=1) * sizes[:, None]).astype(np.int64)
    edges[:, -1] = sizes
    return np.diff(edges, axis=1, prepend=0)


def _restricted(mixes: Floats, left: Indices) -> Floats:
    """The mixes of all agents on the classes that have records left, each adding up to 1."""
    weights = np.where(left > 0, mixes, 0.0)
    weights[weights.sum(axis=1) <= 0] = left
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def _pick(draw: np.random.Generator, mixes: Floats, turns: Indices) -> Indices:
    """A class for every turn, from the mix of the agent whose turn it is."""
    coins, picks = draw.random(len(turns)), np.zeros(len(turns), dtype=np.int64)
    for agent, mix in enumerate(mixes):
        mine = turns == agent
        last = np.flatnonzero(mix)[-1]  # takes what rounding leaves
        borders = np.cumsum(mix)[:last]
        picks[mine] = np.searchsorted(borders, coins[mine], side="right")
    return picks


def _deal(request: Request, classes: Indices, counts: Indices) -> list[Indices]:
    """Records for class counts `(classes, agents)`: those of a class are shuffled, then cut."""
    rows: list[list[Indices]] = [[] for _ in range(request.agents)]
    for label, row in zip(classes, counts, strict=True):
        pieces = np.split(_shuffled(request, int(label)), np.cumsum(row))
        for agent, piece in enumerate(pieces[: request.agents]):
            rows[agent].append(piece)
    return [np.concatenate(row) for row in rows]


def _apportion(sizes: Indices, total: int) -> Indices:
    """How many of `total` shards each class has: in proportion to its size, at least one.

    Largest remainders decide how fractions are rounded.
    """
    exact = sizes / sizes.sum() * total
    shares: Indices = np.maximum(1, np.floor(exact)).astype(np.int64)
    while shares.sum() != total:
        step = 1 if shares.sum() < total else -1
        gap = np.where(shares + step >= 1, (exact - shares) * step, -np.inf)
        shares[int(np.argmax(gap))] += step
    return shares
