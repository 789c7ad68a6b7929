"""Rules for the mixing weights: from who talks to whom to the matrix W.

Every rule returns a matrix that is symmetric to the last bit, has rows that sum to 1 within 1e-12
and a positive diagonal. On a regular graph `metropolis` and `uniform` give exactly 1/(d + 1)
everywhere, also on the diagonal, so that the rows of the complete graph are equal bit by bit.
"""

from __future__ import annotations

import numpy as np

from dpdl.errors import InputError, unknown
from dpdl.graph.check import Matrix, Pattern
from dpdl.keys import generator

WEIGHTS = ("metropolis", "uniform", "sinkhorn", "given")


def check_rule(weights: str) -> None:
    """Refuse a rule that does not exist."""
    if weights not in WEIGHTS:
        raise unknown("weights", weights, WEIGHTS)


def weigh(pattern: Pattern, weights: str, seed: int) -> Matrix:
    """The matrix W of a rule on a symmetric pattern without self-loops."""
    check_rule(weights)
    if weights == "given":
        raise InputError(
            "Weights 'given' need a graph file that holds them: choose another rule."
        )
    if weights == "sinkhorn":
        return sinkhorn(pattern, seed)
    return uniform(pattern) if weights == "uniform" else metropolis(pattern)


def metropolis(pattern: Pattern) -> Matrix:
    """w_ij = 1 / (1 + max(d_i, d_j)) on edges, and w_ii is what is left of 1."""
    d = pattern.sum(axis=1)
    W = np.where(pattern, 1.0 / (1.0 + np.maximum.outer(d, d)), 0.0)
    own = 1.0 / (1.0 + d)
    # The same number as 1 - sum_j w_ij, but without rounding where all degrees are equal.
    left = own + np.where(pattern, own[:, None] - W, 0.0).sum(axis=1)
    np.fill_diagonal(W, left)
    return W


def uniform(pattern: Pattern) -> Matrix:
    """w_ij = 1 / (d_max + 1) on edges, and w_ii = (d_max + 1 - d_i) / (d_max + 1)."""
    d = pattern.sum(axis=1)
    top = d.max() + 1
    W: Matrix = np.where(pattern, 1.0 / top, 0.0)
    np.fill_diagonal(W, (top - d) / top)
    return W


def sinkhorn(pattern: Pattern, seed: int) -> Matrix:
    """w_ij = s_i a_ij s_j with a_ij = a_ji uniform on [0.1, 1]; s makes every row sum to 1.

    The scaling is unique. It minimises the convex f(u) = sum_ij a_ij exp(u_i + u_j) / 2 - sum_i u_i
    with s = exp(u); damped Newton steps reach it also where Sinkhorn's alternating steps crawl
    (bipartite graphs).
    """
    N = len(pattern)
    drawn = generator(seed, "graph-weights").uniform(0.1, 1.0, size=(N, N))
    A: Matrix = np.where(
        pattern | np.eye(N, dtype=np.bool_), np.triu(drawn) + np.triu(drawn, 1).T, 0.0
    )
    u = -np.log(A.sum(axis=1)) / 2
    for _ in range(100):
        W: Matrix = A * np.exp(np.add.outer(u, u))
        excess = W.sum(axis=1) - 1.0
        if np.abs(excess).max() < 1e-13:
            break
        step = np.linalg.solve(W + np.diag(W.sum(axis=1)), excess)
        size = 2.0 * float(np.abs(step).max())
        u -= step * (np.log1p(size) / size)
    np.fill_diagonal(W, np.diagonal(W) - excess)
    return W
