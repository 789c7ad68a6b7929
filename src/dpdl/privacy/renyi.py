"""Rényi DP of Gaussian rounds: upper bounds that need no grid, and so hold at any T and any delta.

Poisson sampling at rate q, a record added or removed: the divergence of order a is log(A) / (a - 1)
with

    A - 1 = sum over k = 2..a of C(a, k) q^k (1 - q)^(a - k) (exp(k (k - 1) / (2 sigma^2)) - 1)

(Mironov, Talwar, Zhang 2019, arXiv 1908.10530). All terms are positive: nothing is lost to
rounding, however small q and 1 / sigma are. An order becomes (epsilon, delta) by Proposition 12 of
Canonne, Kamath, Steinke 2020 (arXiv 2004.00010).

Fixed-size batches, a record replaced: Wang, Balle, Kasiviswanathan 2019 (arXiv 1808.00087). With p,
q, r for what is done with a batch that has the one record, the other, or neither, and g for the
share of the batch, they show that

    A - 1 <= sum over j = 2..a of C(a, j) g^j E_r |(p - q) / r|^j.

dp-accounting bounds the last factor by their Theorem 27, which is for a Gaussian release only: it
takes differences of moments, for which bounds on the moments would not do. Where later releases of
a round answer earlier ones, what is known is that p, q and r are pairwise dominated by a Gaussian
pair. That gives two bounds; the smaller one is taken:

    2 exp((j - 1) e(j)), with the Rényi divergence e(j) of the pair,
        because |x - y|^j <= x^j + y^j (their Theorem 9);
    2^j sqrt(B(j - 1) B(j + 1)), for even j 2^j B(j), with B(j) = E_r (p / r - 1)^j of the pair,
        because |x + y|^j <= 2^(j - 1) (|x|^j + |y|^j), by Cauchy and Schwarz, and because even
        powers are convex: the dominating pair has most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

LARGEST_MOMENT = 128
ORDERS = (*range(2, 65), *(round(64 * 1.25**k) for k in range(1, 26)))

Curve = npt.NDArray[np.float64]
"""Rényi divergences, one for each of ORDERS."""


@final
@dataclass(frozen=True)
class Rounds:
    """Rounds alike, each with a fresh Poisson sample; at rate 1 all records take part."""

    sigma: float  # effective noise multiplier
    rate: float  # q
    count: int


def epsilon(curve: Curve, delta: float) -> float:
    """The epsilon that a curve proves for a delta."""
    a = np.array(ORDERS)
    found = curve + np.log1p(-1 / a) - np.log(delta * a) / (a - 1)
    return max(0.0, float(found.min()))


def delta(curve: Curve, eps: float) -> float:
    """The delta that a curve proves for an epsilon; at most 1."""
    a = np.array(ORDERS)
    logs = (a - 1) * (curve - eps + np.log1p(-1 / a)) - np.log(a)
    return float(np.exp(min(0.0, logs.min())))


@lru_cache(maxsize=1024)
def poisson(rounds: tuple[Rounds, ...], move: float = 1.0) -> Curve:
    """The curve of rounds in which one record moves the release by `move` clipping bounds.

    A record added or removed has move 1. A record replaced has move 2, which is right at rate 1
    only.
    """
    return total((r.count, _sampled(r.rate, r.sigma / move)) for r in rounds)


def total(curves: Iterable[tuple[int, Curve]]) -> Curve:
    """The curve of many rounds, each kind with how often it happened."""
    added = np.zeros(len(ORDERS))
    for count, curve in curves:
        added += count * curve
    return added


def _sampled(rate: float, sigma: float) -> Curve:
    return np.array([at_order(a, rate, sigma) for a in ORDERS])


def at_order(order: int, rate: float, sigma: float) -> float:
    """The divergence of one order of a round with a Poisson sample, a record added or removed."""
    if rate >= 1:
        return order / (2 * sigma**2)
    return _log_one_plus(_log_terms(rate, sigma, order)) / (order - 1)


def _log_terms(rate: float, sigma: float, order: int) -> Curve:
    """Logarithms of the terms of A - 1."""
    k = np.arange(2, order + 1)
    exponent = k * (k - 1.0) / (2 * sigma**2)
    terms: Curve = (
        _log_binomials(order) + k * np.log(rate) + (order - k) * np.log1p(-rate)
    )
    return terms + exponent + np.log(-np.expm1(-exponent))


@lru_cache(maxsize=1024)
def fixed_size(rate: float, sigma: float) -> Curve:
    """The curve of one adaptive round on a batch of fixed size.

    Sigma is the deviation of the noise over what a replaced record can move.
    """
    if rate >= 1:
        return _sampled(rate, sigma)
    even = _log_even_moments(sigma)
    return np.array(
        [
            _log_one_plus(_log_fixed_terms(rate, sigma, a, even)) / (a - 1)
            for a in ORDERS
        ]
    )


def _log_fixed_terms(rate: float, sigma: float, order: int, even: Curve) -> Curve:
    j = np.arange(2, order + 1)
    bound: Curve = np.log(2) + j * (j - 1) / (2 * sigma**2)
    few = j[j <= LARGEST_MOMENT]
    moments = few * np.log(2) + (even[few // 2 - 1] + even[(few + 1) // 2 - 1]) / 2
    bound[: len(few)] = np.minimum(bound[: len(few)], moments)
    bound += j * np.log(rate)
    return _log_binomials(order) + bound


def _log_even_moments(sigma: float) -> Curve:
    """Logarithms of B(2), B(4), ..., by the trapezoidal rule, which is exact to rounding here.

    Against much noise only: against little the other bound is smaller.
    """
    powers = np.arange(2, LARGEST_MOMENT + 1, 2)
    if sigma < 0.25:
        return np.full(len(powers), np.inf)
    spacing = 0.02
    z = np.arange(-30.0, LARGEST_MOMENT / sigma + 30.0, spacing)
    loss = z / sigma - 1 / (2 * sigma**2)
    # log |exp(loss) - 1|, in which the 1 does not show at 50, and a loss of 0 has no logarithm.
    ratio = np.where(
        loss > 50,
        loss,
        np.log(np.maximum(np.abs(np.expm1(np.minimum(loss, 50))), 1e-300)),
    )
    weight = np.log(spacing / np.sqrt(2 * np.pi)) - z**2 / 2
    return np.array([_log_sum(power * ratio + weight) for power in powers])


def _log_binomials(order: int) -> Curve:
    """The logarithm of C(order, k) for k = 2..order."""
    k = np.arange(1, order + 1)
    return np.cumsum(np.log((order - k + 1) / k))[1:]


def _log_one_plus(logs: Curve) -> float:
    """The logarithm of 1 + the sum of what the logarithms stand for."""
    return float(np.logaddexp(0.0, _log_sum(logs)))


def _log_sum(logs: Curve) -> float:
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))
