"""What is known of Gaussian releases in closed form."""

from __future__ import annotations

import math

from scipy.stats import norm


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon with delta(epsilon) <= delta, by Balle and Wang's closed form."""
    low, high = 0.0, 200.0
    while high - low > 1e-9:
        eps = (low + high) / 2
        spent = norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(
            -mu / 2 - eps / mu
        )
        low, high = (eps, high) if spent > delta else (low, eps)
    return high
