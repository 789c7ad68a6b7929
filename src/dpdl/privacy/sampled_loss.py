"""The privacy-loss distribution of one sampled Gaussian round, on a grid.

With P = N(0, sigma^2) and Q = (1 - q) N(0, sigma^2) + q N(-1, sigma^2), a record removed makes Q
of P, and one added P of Q, mirrored. "Connect the dots" needs the hockey-stick divergence delta of
the two at every point e of the grid. The loss of Q against P at x is that without sampling,
l = -(1 + 2 x) / (2 sigma^2), diluted: log(1 - q + q exp(l)). So, where e is above log(1 - q),

    l = log(1 + (exp(e) - 1) / q),   x = -1/2 - l sigma^2,
    delta(e) = Q(X <= x) - exp(e) P(X <= x),

and 1 - exp(e) elsewhere. dp-accounting has these formulas, but finds x point by point; here they
are applied to all points at once, with the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
SAME = 1e-9
"""Points relatively as close to the end of the range of losses count as the end."""


def sampled_gaussian(sigma: float, rate: float, grid: float) -> Any:
    """The distribution for a record that is added or removed; `rate` is below 1."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

    ways = AdjacencyType.REMOVE, AdjacencyType.ADD
    return PrivacyLossDistribution(*(_masses(sigma, rate, grid, way) for way in ways))


def _masses(sigma: float, rate: float, grid: float, way: Any) -> Any:
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap
    from dp_accounting.pld.privacy_loss_mechanism import (
        AdjacencyType,
        GaussianPrivacyLoss,
    )

    loss = GaussianPrivacyLoss(sigma, sampling_prob=rate, adjacency_type=way)
    bounds = loss.connect_dots_bounds()
    first = math.floor(bounds.epsilon_lower / grid)
    last = math.ceil(bounds.epsilon_upper / grid)
    points = np.arange(first, last + 1) * grid
    removed = way is AdjacencyType.REMOVE
    return create_pmf_pessimistic_connect_dots_fixed_gap(
        grid, first, last, _divergences(loss, points, sigma, rate, removed)
    )


def _divergences(
    loss: Any, points: Numbers, sigma: float, rate: float, removed: bool
) -> Numbers:
    """The hockey-stick divergence at every point."""
    sign, shift = (1.0, 0.0) if removed else (-1.0, 1.0)
    inside = sign * points > math.log1p(-rate)
    deltas = np.zeros_like(points)
    if removed:
        deltas[~inside] = -np.expm1(points[~inside])
    some = points[inside]
    full = sign * _undiluted(sign * some, rate)
    x = shift + (-0.5 - full * sigma**2)
    deltas[inside] = loss.mu_upper_cdf(x) - np.exp(some + loss.mu_lower_log_cdf(x))
    clipped: Numbers = np.clip(deltas, 0, 1)
    return clipped


def _undiluted(losses: Numbers, rate: float) -> Numbers:
    """The losses without sampling that these, above log(1 - q), are of a record removed."""
    d, c = losses + np.log(1 / rate), np.log(1 / rate - 1)
    with np.errstate(divide="ignore"):
        found: Numbers = d + np.log1p(-np.exp(c - d))
        found[losses == 0] = np.log(1 / rate + (1 - 1 / rate))
    found[_close(losses, math.log(1 - rate))] = -math.inf
    return found


def _close(losses: Numbers, end: float) -> npt.NDArray[np.bool_]:
    close: npt.NDArray[np.bool_] = np.abs(losses - end) <= SAME * np.maximum(
        np.abs(losses), abs(end)
    )
    return close
