"""Epsilon of a Poisson-subsampled Gaussian, composed T times, by plain numerical integration.

Nothing is shared with `src`. The privacy loss of one step is put on a fine grid (each mass on its two neighbours, so
that means are kept), convolved T times by FFT; both directions, a record added and a record removed, are tried.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm


def epsilon(sigma: float, q: float, rounds: int, delta: float, grid: float = 2e-4) -> float:
    return max(_direction(sigma, q, rounds, delta, grid, removed) for removed in (True, False))


def _direction(sigma: float, q: float, rounds: int, delta: float, grid: float, removed: bool) -> float:
    x = np.linspace(-40 * sigma, 40 * sigma + 1, 400_001)
    ratio = np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2)))  # log of (mixture / plain) at x
    plain = norm.cdf(x, 0, sigma)
    mixture = (1 - q) * plain + q * norm.cdf(x, 1, sigma)
    loss, cdf = (ratio, mixture) if removed else (-ratio, plain)
    mass = np.diff(cdf)
    middle = (loss[1:] + loss[:-1]) / 2
    half = int(np.ceil(np.abs(middle).max() / grid)) + 1
    spread = int(np.ceil(60 * np.sqrt(rounds) * max(np.sqrt(np.sum(mass * middle**2)), grid) / grid)) + half
    size = 1 << int(np.ceil(np.log2(2 * spread + 1)))
    one = np.zeros(size)
    below = np.floor(middle / grid).astype(int)
    share = middle / grid - below
    np.add.at(one, below % size, mass * (1 - share))
    np.add.at(one, (below + 1) % size, mass * share)
    total = np.maximum(np.fft.irfft(np.fft.rfft(one) ** rounds, size), 0)
    values = grid * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)

    def spent(eps: float) -> float:
        above = values > eps
        return float(np.sum(total[above] * -np.expm1(eps - values[above])))

    low, high = 0.0, float(values.max())
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high
