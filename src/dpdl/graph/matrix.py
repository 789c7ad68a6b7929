"""The graph as its mixing matrix.

The DPDL paper assumes a symmetric, doubly stochastic W with max(|λ_2|, |λ_N|) <= sqrt(rho) < 1. A
connected pattern with a positive diagonal has that property, and `Graph` refuses everything else.
Only a graph for one moment (`moment`, `pair`) need not be connected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.graph.check import Matrix, as_matrix, check_connected, check_weights

T = TypeVar("T", bound=np.generic)


DIGITS = 12
"""Digits to which eigenvalues are rounded.

Processes whose linear algebra differs in the last bits must compute the same gamma and K.
"""


@dataclass(frozen=True, eq=False)
class Graph:
    """N agents and the symmetric, doubly stochastic, connected matrix W they mix with.

    `W[i, j] > 0` says that i and j talk to each other; every agent also talks to itself. The matrix
    is a read-only copy, symmetric to the last bit. Bad input raises `InputError` that names the row
    or edge.
    """

    W: Matrix
    name: str = "given"

    def __post_init__(self) -> None:
        W = as_matrix(self.W)
        check_weights(W)
        # Within the tolerance w_ij and w_ji may differ; both ends of an edge use their mean.
        W = (W + W.T) / 2
        check_connected(W > 0)
        object.__setattr__(self, "W", _frozen(W))

    def __len__(self) -> int:
        return int(self.W.shape[0])

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, N={self.N}, edges={self.edge_count})"

    @property
    def N(self) -> int:  # noqa: N802 - the paper's letter
        """The number of agents."""
        return len(self)

    @cached_property
    def edges(self) -> npt.NDArray[np.int64]:
        """Directed edges (i, j) with self-loops, by j and then i: the order all processes share."""
        j, i = np.nonzero(self.W.T)
        return _frozen(np.stack([i, j], axis=1).astype(np.int64))

    @property
    def edge_count(self) -> int:
        """The number of undirected edges without self-loops."""
        return int(self.degrees.sum()) // 2

    def neighbours(self, i: int) -> npt.NDArray[np.int64]:
        """Agents that share an edge with agent i, ascending, i itself included."""
        if not 0 <= i < self.N:
            raise InputError(
                f"There is no agent {i}: agents are numbered 0 to {self.N - 1}."
            )
        return np.flatnonzero(self.W[i]).astype(np.int64)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The paper's |N_i|: the number of neighbours of each agent, itself included."""
        return _frozen(np.count_nonzero(self.W, axis=1).astype(np.int64))

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """The number of neighbours of each agent without itself: `sizes - 1`."""
        return _frozen(self.sizes - 1)

    @cached_property
    def eigenvalues(self) -> Matrix:
        """The eigenvalues of W, largest (which is 1) first."""
        return _frozen(np.linalg.eigvalsh(self.W)[::-1].astype(np.float64))

    @property
    def lambda2(self) -> float:
        """max(|λ_2|, |λ_N|): how much of a disagreement one mixing leaves; 0 for one agent."""
        return (
            min(1.0, float(np.abs(self.eigenvalues[[1, -1]]).max()))
            if self.N > 1
            else 0.0
        )

    @property
    def spectral_gap(self) -> float:
        """1 - max(|λ_2|, |λ_N|), from 0 (never agree) to 1 (agree in one round)."""
        return 1.0 - self.lambda2

    @property
    def rho(self) -> float:
        """max(|λ_2|, |λ_N|)²: the smallest rho that meets the paper's assumption."""
        return self.lambda2**2

    @cached_property
    def w_min(self) -> float:
        """The smallest weight of an edge, self-loops included."""
        return float(self.W[self.W > 0].min())

    @cached_property
    def w_max(self) -> float:
        """The largest weight of an edge, self-loops included."""
        return float(self.W.max())


def pair(agents: int, a: int, b: int | None) -> Graph:
    """The graph of one moment: a and b meet with weight 1/2, all others keep to themselves.

    Without b, and when b is a, nobody meets.
    """
    for i in (a, a if b is None else b):
        if not 0 <= i < agents:
            raise InputError(
                f"There is no agent {i}: agents are numbered 0 to {agents - 1}."
            )
    W = np.eye(agents)
    if b is not None and b != a:
        W[[a, b, a, b], [a, b, b, a]] = 0.5
    return moment(W, "pair")


def moment(W: Matrix, name: str = "moment") -> Graph:
    """The graph of one moment, which need not be connected: many connect what one does not.

    W must be symmetric and doubly stochastic by construction; nothing is checked.
    """
    graph = object.__new__(Graph)
    hosts, askers = np.nonzero(W)
    edges = np.stack([askers, hosts], axis=1).astype(np.int64)
    values = {"W": _frozen(W), "name": name, "edges": _frozen(edges)}
    for key, value in values.items():
        object.__setattr__(graph, key, value)
    return graph


def _frozen(array: npt.NDArray[T]) -> npt.NDArray[T]:
    array.flags.writeable = False
    return array


def acceleration(graph: Graph) -> float:
    """The best gamma of accelerated gossip, 2 / (1 + sqrt(1 - rho^2)).

    From 1, where nothing is gained, to below 2.
    """
    return 2 / (1 + math.sqrt(1 - round(graph.lambda2, DIGITS) ** 2))
