"""What one agent learns about another from one call of accelerated gossip, exactly.

The values y^0 = a + z, with z ~ N(0, sigma^2 I) over agents, are mixed by K steps, in which agent w
sends y^t_w = (P_t(W) y^0)_w for t < K. So agent v knows its own y^0_v and hears B_v y^0, where

    B_v = the rows P_t(W)_w for t < K and w in N(v) - v, and the row e_v.

Changing a record of agent u moves y^0 by Delta e_u. The messages share their noise, and jointly
they are Gaussian with covariance sigma^2 B_v B_v'. The view of v is therefore mu-GDP with respect
to u, and no less, for

    mu^2 = (Delta / sigma)^2 E_uv,     E_uv = (B_v^+ B_v)_uu,

the squared length of e_u's projection on the rows of B_v.

E_uv lies in [0, 1]; 1 is the local level, that of whoever hears y^0_u itself. It is the exposure of
`dpdl.algorithms.disclosure`, for one listener. Since P_t has degree t, the rows span the same space
as W^t_w: E_uv depends on W and K, not on the acceleration. A neighbour hears y^0_u itself, and on a
ring each further step gives the next agent away: E_uv is 1 up to distance K and 0 beyond.

The bound published with Muffliato (Cyffers, Even, Bellet, Massoulié, 2022) adds up the messages one
by one, as if each had noise of its own:

    sum_{t < K} sum_{w in N(v) - v} P_t(W)_wu^2 / ||P_t(W)_w||^2.

It is not an upper bound: a listener combines messages to cancel noise that they share.
`published_sum` computes it for comparison only.

This is about one call, and no accountant here uses it for training. A second call starts from
models that hold the release of the first one, mixed, and gives away more of it: an agent at
distance above K, of which the first call tells nothing, is heard in the next, so the values of
single calls do not add up to a bound. Moreover the later gradients of all agents depend on the
record through models, and noise, that v never saw; conditioned on its view, they are no longer
fixed numbers that cancel. Training is accounted for at the local level, which needs neither.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.graph.matrix import acceleration

if TYPE_CHECKING:
    from dpdl.graph import Graph

Matrix = npt.NDArray[np.float64]

NEW = 1e-9
"""A message adds a direction if its new part is longer than this; rounding leaves about 1e-15."""


def exposures(graph: Graph, steps: int) -> Matrix:
    """What agent v learns about agent u from one call of K = `steps` gossip steps.

    Returns E[u, v] in [0, 1], of shape (N, N).
    """
    return np.stack([exposure(graph, steps, [v]) for v in range(len(graph))], axis=1)


def exposure(graph: Graph, steps: int, listeners: Collection[int]) -> Matrix:
    """The same for `listeners` who share what they hear and know: one number per agent u, (N,)."""
    _check(steps)
    # What a listener sends follows from what it knows and hears: its own rows only add e_v.
    heard = sorted({int(w) for v in listeners for w in graph.neighbours(v)})
    # Krylov space of the agents that are heard. Powers of W would lose small new directions, so the
    # known ones are removed first: W times what step t added is all that step t + 1 can add.
    known, block = np.zeros((len(graph), 0)), np.eye(len(graph))[:, heard]
    for _ in range(steps):
        added = _directions(block, known)
        known, block = np.hstack([known, added]), graph.W @ added
    return np.asarray((known**2).sum(axis=1).clip(max=1.0))


def published_sum(graph: Graph, steps: int) -> Matrix:
    """The published sum over messages, [u, v], 1 for u = v.

    For comparison only: it may lie below the exposure.
    """
    _check(steps)
    total = np.zeros_like(graph.W)
    heard = (graph.W > 0).astype(float)
    np.fill_diagonal(heard, 0.0)
    for P in polynomials(graph, steps):
        total += (P**2 / (P**2).sum(axis=1, keepdims=True)).T @ heard
    np.fill_diagonal(total, 1.0)
    return total


def polynomials(graph: Graph, steps: int) -> list[Matrix]:
    """P_t(W) for t < `steps`: what accelerated gossip has made of y^0 after t steps."""
    gamma = acceleration(graph)
    found = [np.eye(len(graph)), np.array(graph.W)]
    while len(found) < steps:
        found.append(gamma * graph.W @ found[-1] + (1 - gamma) * found[-2])
    return found[:steps]


def _directions(columns: Matrix, known: Matrix) -> Matrix:
    """An orthonormal basis of what the columns add to the orthonormal columns `known`."""
    for _ in range(2):  # once is not enough when little is left
        columns = columns - known @ (known.T @ columns)
    basis, lengths, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(basis[:, lengths > NEW])


def _check(steps: int) -> None:
    if steps < 1:
        raise InputError(f"Gossip takes at least one step, but {steps} were given.")
