"""Which pairs of agents should share how much noise, so that the least of it is left after mixing.

Agent i adds to its gradient noise of its own, of variance 1, and for every other agent j a secret
of the two that one adds and the other subtracts, of variance c_ij^2. All together have the
covariance

    R = I + sum over pairs of c_ij^2 (e_i - e_j) (e_i - e_j)'

and hide agent i as well as own noise of variance 1 / (R^-1)_ii alone. With S = sum_{k=1}^K W^{2k},
tr(S R) is the variance that the noise of one round leaves in all models over the next K rounds of
mixing. `shares` looks for the c of least

    tr(S R) max_i (R^-1)_ii,

which is what is left when the noise is then scaled until the worst hidden agent is hidden as well
as by own noise of variance 1. Up to scale this is a convex problem: where a largest (R^-1)_ii is
replaced by a mean with weights mu, it is solved by w_e <- w_e (G_e C / (S_e A))^(1/2) with
w_e = c_e^2, C = tr(S R), A = sum_i mu_i (R^-1)_ii, G = R^-1 diag(mu) R^-1 and X_e = (e_i - e_j)' X
(e_i - e_j); and mu_i grows with (R^-1)_ii. That is the multiplicative algorithm for A-optimal
designs (Silvey, Titterington, Torsney, An algorithm for optimal designs on a finite design space,
1978).

Nothing rests on how well it is solved: what is hidden is computed from the c that are used.

The two ends of a pair may be on different machines and must find the same c. So only additions,
multiplications, divisions and square roots are used, in an order that is fixed, which every machine
rounds alike; and c is a multiple of `STEP`, at most `MOST`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from dpdl.graph import Graph

Matrix = npt.NDArray[np.float64]

STEP = 1 / 16
"""Factors are multiples of it."""
MOST = 8.0
"""No factor is larger: pairs whose noise one mixing removes would ask for ever more of it."""
ITERATIONS = 400
"""Within 1 % of the least that is possible, on all graphs that were tried, and mostly 0.1 %."""


@lru_cache(maxsize=256)
def shares(graph: Graph, horizon: int) -> Matrix:
    """The factors c, [i, j], symmetric and zero on the diagonal: (N, N), not to be written to."""
    S = left_over(graph.W, horizon)
    w = _designed(S) if len(graph) > 1 else np.zeros((1, 1))
    c = np.minimum(np.floor(np.sqrt(w) / STEP + 0.5) * STEP, MOST)
    c.setflags(write=False)
    return c


def left_over(W: Matrix, horizon: int) -> Matrix:
    """S = sum_{k=1}^K W^{2k}."""
    square = product(W, W)
    power = total = square
    for _ in range(horizon - 1):
        power = product(power, square)
        total = total + power
    return total


def covariance(c: Matrix) -> Matrix:
    """R, of noise whose own part has variance 1."""
    w = c**2
    R: Matrix = np.diag(1 + _sums(w)) - w
    return R


def _designed(S: Matrix) -> Matrix:
    """The variances w = c^2 of least tr(S R) max_i (R^-1)_ii, nearly."""
    n = len(S)
    cost = np.maximum(_of_pairs(S), 1e-12 * float(S.trace()))
    own = np.diag(S).copy()
    w, mu = np.full((n, n), 1 / n), np.full(n, 1 / n)
    np.fill_diagonal(w, 0.0)
    for _ in range(ITERATIONS):
        R = covariance(np.sqrt(w))
        P = inverse(R)
        hidden = mu * np.diag(P)
        G = product(P * mu, P)
        per_cost = float(_sums(_sums(S * R)[None])[0]) / float(_sums(hidden[None])[0])
        gain = np.sqrt(_of_pairs(G) / cost * per_cost)
        alone = float(
            np.sqrt(_sums(np.diag(G)[None])[0] / float(_sums(own[None])[0]) * per_cost)
        )
        w = np.minimum(w * (gain / alone), MOST**2)
        mu = hidden / float(_sums(hidden[None])[0])
    return w


def _of_pairs(X: Matrix) -> Matrix:
    """X_ii + X_jj - 2 X_ij."""
    d = np.diag(X)
    found: Matrix = d[:, None] + d[None, :] - X - X.T
    np.fill_diagonal(found, 0.0)
    return np.maximum(found, 0.0)


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B, every sum from left to right: a library's product may have another order."""
    total = np.zeros((len(A), B.shape[1]))
    for k in range(len(B)):
        total += A[:, k, None] * B[k]
    return total


def _sums(rows: Matrix) -> Matrix:
    """Of every row, from left to right."""
    total = np.zeros(len(rows))
    for column in rows.T:
        total += column
    return total


def inverse(R: Matrix) -> Matrix:
    """R^-1 of a positive definite matrix, by elimination without exchanges."""
    n = len(R)
    both = np.hstack([R, np.eye(n)])
    for k in range(n):
        both[k] = both[k] / both[k, k]
        factors = both[:, k].copy()
        factors[k] = 0.0
        both -= factors[:, None] * both[k]
    return both[:, n:].copy()
