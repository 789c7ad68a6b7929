"""Epsilon of a Poisson-subsampled Gaussian, composed T times, by plain numerical integration.

Nothing is shared with `src`.

`epsilon`: the privacy loss of one step is put on a fine grid (each mass on its two neighbours, so that means are kept),
convolved T times by FFT; both directions, a record added and a record removed, are tried.

`exact_epsilon`: no loss is ever put on a grid. The characteristic function of one step's loss is integrated over the
noise, raised to the power T, and turned back into a density. The trapezoidal rule is exact to rounding for such smooth
integrands, so this is the true value to about six digits, as long as the density of the sum is smooth: from some ten
steps on.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

# Means of the noise and their weights, for the data that the loss is drawn from and for the data it is compared with.
PAIRS = {
    "removed": ((0, 1), (0,)),
    "added": ((0,), (0, 1)),
    "replaced": ((0, 1), (0, -1)),
}


def exact_epsilon(
    sigma: float, q: float, rounds: int, delta: float, relation: str = "add-remove"
) -> float:
    ways = ("removed", "added") if relation == "add-remove" else ("replaced",)
    return max(_solve(*_density_of_loss(sigma, q, rounds, way), delta) for way in ways)


def _density_of_loss(
    sigma: float, q: float, rounds: int, way: str
) -> tuple[np.ndarray, np.ndarray]:
    """The total loss on an even grid, and the mass at each point."""
    x = np.linspace(-13 * sigma - 1, 13 * sigma + 1, 4_001)
    upper, lower = (_log_mixture(x, means, sigma, q) for means in PAIRS[way])
    weight = np.exp(upper) / np.exp(upper).sum()
    loss = upper - lower
    mean = np.sum(weight * loss)
    deviation = np.sqrt(rounds * np.sum(weight * (loss - mean) ** 2))
    reach = np.abs(loss[weight > 1e-16]).max()
    window, size = 80 * deviation + 4 * reach, 1 << 16
    frequency = 2 * np.pi / window * np.arange(1_000)
    one = np.array([np.sum(weight * np.exp(1j * t * (loss - mean))) for t in frequency])
    all_rounds = np.zeros(size // 2 + 1, complex)
    all_rounds[: len(one)] = one**rounds
    assert abs(all_rounds[len(one) - 1]) < 1e-12, "the density is not smooth enough"
    mass = np.roll(np.fft.irfft(np.conj(all_rounds), size), size // 2)
    return rounds * mean + window * (np.arange(size) / size - 0.5), mass


def _log_mixture(
    x: np.ndarray, means: tuple[int, ...], sigma: float, q: float
) -> np.ndarray:
    """Up to the same constant for all mixtures."""
    weights = (1.0,) if len(means) == 1 else (1 - q, q)
    parts = [
        np.log(w) - (x - m) ** 2 / (2 * sigma**2)
        for w, m in zip(weights, means, strict=True)
        if w > 0
    ]
    return np.asarray(logsumexp(parts, axis=0))


def _solve(values: np.ndarray, mass: np.ndarray, delta: float) -> float:
    """The epsilon at which a distribution of losses spends delta."""
    low, high = 0.0, float(values.max())
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        above = values > middle
        spent = np.sum(mass[above] * -np.expm1(middle - values[above]))
        low, high = (middle, high) if spent > delta else (low, middle)
    return high


def epsilon(
    sigma: float, q: float, rounds: int, delta: float, grid: float = 2e-4
) -> float:
    return max(
        _direction(sigma, q, rounds, delta, grid, removed) for removed in (True, False)
    )


def _direction(
    sigma: float, q: float, rounds: int, delta: float, grid: float, removed: bool
) -> float:
    x = np.linspace(-40 * sigma, 40 * sigma + 1, 400_001)
    ratio = np.log1p(
        q * np.expm1((2 * x - 1) / (2 * sigma**2))
    )  # log of (mixture / plain) at x
    plain = norm.cdf(x, 0, sigma)
    mixture = (1 - q) * plain + q * norm.cdf(x, 1, sigma)
    loss, cdf = (ratio, mixture) if removed else (-ratio, plain)
    mass = np.diff(cdf)
    middle = (loss[1:] + loss[:-1]) / 2
    half = int(np.ceil(np.abs(middle).max() / grid)) + 1
    spread = (
        int(
            np.ceil(
                60
                * np.sqrt(rounds)
                * max(np.sqrt(np.sum(mass * middle**2)), grid)
                / grid
            )
        )
        + half
    )
    size = 1 << int(np.ceil(np.log2(2 * spread + 1)))
    one = np.zeros(size)
    below = np.floor(middle / grid).astype(int)
    share = middle / grid - below
    np.add.at(one, below % size, mass * (1 - share))
    np.add.at(one, (below + 1) % size, mass * share)
    total = np.maximum(np.fft.irfft(np.fft.rfft(one) ** rounds, size), 0)
    values = grid * np.where(
        np.arange(size) < size // 2, np.arange(size), np.arange(size) - size
    )

    return _solve(values, total, delta)
