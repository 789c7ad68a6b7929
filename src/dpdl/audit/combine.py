"""One number out of several rows: the best linear combination, with weights that are learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import torch

Numbers = npt.NDArray[np.float64]

RIDGE = 1e-8
"""Noise added to a row, as a share of its variance, so that rounding is not taken for signal."""


@final
@dataclass(frozen=True)
class Combination:
    """One number per coordinate, with unit noise; a record that takes part moves it by `mu`.

    `mu` is 1 / sigma_eff.
    """

    weights: Numbers
    mu: float

    def __call__(self, rows: Numbers) -> Numbers:
        """The combined row: (p, d) -> (d,)."""
        return np.asarray(self.weights @ rows)

    def score(self, rows: Numbers, rate: float) -> Numbers:
        """log(1 - q + q exp(mu s - mu^2 / 2)), for the combined row s and the sampling rate q.

        This is the log-likelihood ratio of a sampled Gaussian: the optimal test.
        """
        gain = self.mu * self(rows) - self.mu**2 / 2
        if rate >= 1:
            return gain
        return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + gain))


def covariance(rows: Numbers) -> Numbers:
    """The mean product of any two rows: (p, n) -> (p, p). Rows have mean zero.

    Torch computes it, here and below, since it can be kept to one core; threads of NumPy would wait
    for each other.
    """
    values = torch.from_numpy(rows)
    return np.asarray((values @ values.T).numpy() / rows.shape[1])


def least_squares(rows: Numbers, causes: Numbers) -> Numbers:
    """The A for which A causes is nearest to rows: (p, n), (k, n) -> (p, k).

    A cause that never acts gets zero.
    """
    x, y = torch.from_numpy(causes), torch.from_numpy(rows)
    gram = x @ x.T + RIDGE * x.shape[1] * torch.eye(len(x), dtype=x.dtype)
    return _solve(gram.numpy(), (x @ y.T).numpy()).T


@final
@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal showed of p rows."""

    noise: Numbers  # (p, p), their covariance without a record
    signal: Numbers  # (p,), how far a record that takes part moves them


def combine(learnt: Rehearsed, tried: Rehearsed) -> Combination:
    """Weights S^-1 signal, by what was learnt; `mu` is what they achieve in another rehearsal.

    The covariance S is measured and not taken from the proof. So an adversary profits from noise
    that is weaker than promised, or shared between messages. The rehearsal that the weights were
    learnt from fits them too well to judge them.
    """
    size = np.sqrt(np.diag(learnt.noise))
    size[size == 0] = 1.0
    floor = RIDGE * np.diag(size**2)
    scaled = (learnt.noise + floor) / np.outer(size, size)
    weights = _solve(scaled, learnt.signal / size) / size
    spread = math.sqrt(weights @ (tried.noise + floor) @ weights)
    moved = float(weights @ tried.signal)
    if moved <= 0:
        return Combination(np.zeros(len(weights)), 0.0)
    return Combination(weights / spread, moved / spread)


def _solve(matrix: Numbers, right: Numbers) -> Numbers:
    return np.asarray(
        torch.linalg.solve(torch.from_numpy(matrix), torch.from_numpy(right)).numpy()
    )
