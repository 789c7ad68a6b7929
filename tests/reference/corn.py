"""D-PSGD with noise that pairs share, as plain loops; the covariance as a plain sum over pairs; the dual of the design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from tests.reference.dpsgd import Agents, Sample


@dataclass
class PlainCorN(Agents):
    beta: float = 0.0
    c: np.ndarray | None = None
    shared: Callable[[int, int, int, int], Tensor] | None = (
        None  # (round, lower, higher, length) -> standard normals
    )

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        sent = []
        for i in range(len(self.W)):
            g = self.private_gradient(t, i, batches[i])
            for j in range(len(self.W)):
                if j != i and self.c[i, j]:
                    z = self.shared(t, min(i, j), max(i, j), len(g))
                    sign = 1.0 if i < j else -1.0
                    g = (
                        g
                        + sign * float(self.c[i, j]) * self.sigma * self.C * z / self.B
                    )
            self.m[i] = self.beta * self.m[i] + g
            sent.append(self.x[i] - self.etas[t - 1] * self.m[i])
        self.x = self.mixed(sent)


def noise_of_pairs(c: np.ndarray, known: set[int] = frozenset()) -> np.ndarray:
    """The covariance of all agents' noise, of which that of pairs with a known agent is known."""
    N = len(c)
    R = np.eye(N)
    for i in range(N):
        for j in range(i):
            if not {i, j} & known:
                end = np.zeros(N)
                end[i], end[j] = c[i, j], -c[i, j]
                R += np.outer(end, end)
    return R


def best_estimate(R: np.ndarray, i: int, others: list[int]) -> float:
    """The variance that remains of agent i's noise for who knows that of the others."""
    cross = R[i, others]
    if not others:
        return float(R[i, i])
    return float(R[i, i] - cross @ np.linalg.solve(R[np.ix_(others, others)], cross))


def least(S: np.ndarray, steps: int = 300) -> float:
    """A lower bound of tr(S R) over all covariances R, made of pairs or not, with (R^-1)_ii <= 1.

    For every mu >= 0, tr(S R) >= 2 tr((D S D)^(1/2)) - sum of mu with D = diag(mu)^(1/2), by the dual.
    """
    best, mu = -np.inf, np.ones(len(S))
    for _ in range(steps):
        D = np.sqrt(mu)
        values, vectors = np.linalg.eigh(D[:, None] * S * D)
        roots = np.sqrt(values.clip(0))
        best = max(best, 2 * roots.sum() - mu.sum())
        mu = np.diag((vectors * roots) @ vectors.T)  # where the derivative is zero
    return best
