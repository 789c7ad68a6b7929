"""The update of Algorithm 1 along one line, exactly: no bound, only numerical integration.

All gradients of the agent are parallel to one direction e, so r and r' are numbers. What remains of the update after
everything known was subtracted is, along e and in units of C / B,

    Y = u + a (K0 + w C(u / sqrt(u^2 + rho^2))) r,     u = r + z,  z ~ N(0, sigma^2),  C(s) = 1 / (1 + exp(s)),

rho being the length of the perturbed self-gradient across e, which has the same distribution whatever r is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

POINTS = 200_001


@dataclass(frozen=True)
class Line:
    """One setting; `density` gives the law of Y for an r."""

    sigma: float
    a: float  # alpha N sqrt(w_ii)
    w: float  # w_ii
    K0: float  # the coefficients of the neighbours, which the listener knows: at most (1 - w) / (1 + 1 / e)
    rho: float

    def update(self, u: np.ndarray, r: float) -> np.ndarray:
        """Y for the perturbed self-gradient u."""
        return (
            u
            + self.a * (self.K0 + self.w / (1 + np.exp(u / np.hypot(u, self.rho)))) * r
        )

    def density(self, y: np.ndarray, r: float) -> np.ndarray:
        """The density of Y at the points y, by the derivative of the distribution function."""
        u = np.linspace(r - 14 * self.sigma, r + 14 * self.sigma, POINTS)
        values = self.update(u, r)
        assert (np.diff(values) > 0).all(), (
            "the update must be a one-to-one function of its noise"
        )
        slope = np.gradient(values, u)
        inverse = np.interp(y, values, u, left=np.nan, right=np.nan)
        slopes = np.interp(y, values, slope)
        return np.nan_to_num(norm.pdf(inverse, r, self.sigma) / slopes)

    def divergence(self, r: float, other: float, gamma: float) -> float:
        """H_gamma(P || Q) = integral of (p - gamma q)_+ of the updates with r and with `other`."""
        ends = [
            self.update(np.array([x + s * 14 * self.sigma]), x)[0]
            for x in (r, other)
            for s in (-1, 1)
        ]
        y = np.linspace(min(ends), max(ends), POINTS)
        excess = np.maximum(self.density(y, r) - gamma * self.density(y, other), 0)
        return float(np.trapezoid(excess, y))


def gaussian(mu: float, gamma: float) -> float:
    """H_gamma of N(mu, 1) and N(0, 1)."""
    return float(
        norm.cdf(mu / 2 - np.log(gamma) / mu)
        - gamma * norm.cdf(-mu / 2 - np.log(gamma) / mu)
    )
