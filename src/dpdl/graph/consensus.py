"""Agreement on the exact mean in finitely many steps of gossip, from the spectrum of W.

    G <- (W G - l_k G) / (1 - l_k),   k = 1..m

With the distinct eigenvalues l_k of W other than 1, the product of the steps is a polynomial of W
that is 1 at 1 and 0 at every other eigenvalue, so it is 11'/N: after m exchanges with neighbours
alone every agent has the exact mean (Sundaram, Hadjicostis, Finite-Time Distributed Consensus in
Graphs with Time-Invariant Topologies, 2007; Hendrickx, Jungers, Olshevsky, Vankeerberghen, Graph
Diameter, Eigenvalues, and Minimum-Time Consensus, 2014).

In exact numbers the order does not matter. In float32 it does, and so we choose it as Leja did for
interpolation, with rounding in the count: next is always the eigenvalue whose part of G is largest,
rounding errors included. Where that is one which was taken before, it is taken again, because
rounding has brought it back. Where all are small before every eigenvalue had its turn, the rest is
left out. So many small eigenvalues need fewer steps than there are, and a few rough ones more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpdl.graph.check import Matrix
from dpdl.graph.matrix import DIGITS, Graph

ALIKE = 1e-9
"""Eigenvalues closer together than this are one, and what is left may be as large."""
UNIT = 2.0**-24
"""The relative rounding error of float32."""
ROUGH = 1e-3
"""How much rounding may leave, over what is agreed on."""
STARTS = 16
"""So many eigenvalues are tried as the first one."""


class Consensus(NamedTuple):
    """The steps, in their order, and what rounding does to them."""

    roots: tuple[float, ...]  # l_1, l_2, ...
    gain: float
    """How much rounding can move the result, over what is agreed on, in units of rounding.

    Both are lengths over all agents, entry by entry. A weighted sum counts as one rounding.
    """


@lru_cache(maxsize=64)
def consensus(graph: Graph, most: int) -> Consensus | None:
    """At most so many steps after which all agents have the mean; None: they are too few.

    No steps for one agent.
    """
    values = distinct(graph)
    if not len(values):
        return Consensus((), 0.0)
    firsts = np.linspace(0, len(values) - 1, min(STARTS, len(values))).round()
    tried = [_ordered(values, int(first), most) for first in firsts]
    found = [one for one in tried if one is not None]
    return min(found, key=lambda one: (len(one.roots), one.gain), default=None)


def distinct(graph: Graph) -> Matrix:
    """The distinct eigenvalues of W other than 1, largest first, as all machines compute them."""
    found: list[float] = []
    for value in graph.eigenvalues[1:].tolist():
        if not found or found[-1] - value > ALIKE:
            found.append(value)
    return np.array(found).round(DIGITS) + 0.0  # no -0.0


def _ordered(values: Matrix, first: int, most: int) -> Consensus | None:
    """The steps that begin with `first`.

    `left` is what is left of every part; `rough` bounds the rounding errors on it, and `moved`
    those on the mean. An entry of (W G - l G) / (1 - l) is rounded three times, each time by at
    most a unit of (|W G| + |l| |G|) / (1 - l).
    """
    order = [first]
    left, rough, moved = np.ones(len(values)), np.zeros(len(values)), 0.0
    while True:
        root = values[order[-1]]
        shrink = np.maximum(np.abs(values - root), 10.0**-DIGITS) / (1 - root)
        size = max(1.0, float((left + rough).max()))
        error = 3 * (1 + abs(root)) / (1 - root) * UNIT * size
        left, rough, moved = left * shrink, rough * shrink + error, moved + error
        if left.max() <= ALIKE and rough.max() <= ROUGH:
            gain = round(float(moved + rough.max()) / UNIT, 6)
            return Consensus(tuple(values[order].tolist()), gain)
        if len(order) == most:
            return None
        order.append(_largest(left + rough))


def _largest(parts: npt.NDArray[np.float64]) -> int:
    """The first of those that are largest to six digits, which are the same on all machines."""
    return next(
        k for k, part in enumerate(parts) if part >= float(parts.max()) * (1 - 1e-6)
    )
