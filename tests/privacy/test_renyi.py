"""Rényi curves against dp-accounting, closed forms and numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NeighboringRelation,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dp_accounting.rdp import RdpAccountant
from scipy.special import logsumexp

from dpdl.privacy import renyi
from dpdl.privacy.renyi import ORDERS, Rounds


@pytest.mark.parametrize(
    ("sigma", "rate", "count"),
    [(4.36, 0.036, 1000), (1.0, 1e-4, 50), (0.5, 0.3, 3), (10.0, 1.0, 25)],
)
def test_the_curve_is_that_of_dp_accounting(
    sigma: float, rate: float, count: int
) -> None:
    accountant = RdpAccountant(orders=ORDERS)
    event = GaussianDpEvent(sigma)
    accountant.compose(
        event if rate == 1 else PoissonSampledDpEvent(rate, event), count
    )
    curve = renyi.poisson((Rounds(sigma, rate, count),))
    assert np.allclose(curve, accountant.rdp, rtol=1e-9, atol=0)
    assert renyi.epsilon(curve, 1e-5) == pytest.approx(
        accountant.get_epsilon(1e-5), rel=1e-9
    )
    eps = renyi.epsilon(curve, 1e-9)
    assert renyi.delta(curve, eps) == pytest.approx(accountant.get_delta(eps), rel=1e-6)


def test_divergences_far_below_the_precision_of_one_are_kept() -> None:
    # a q^2 / (2 sigma^2) to leading order; log(1 + it) in doubles would be 0.
    rate, sigma = 1e-6, 1e4
    curve = renyi.poisson((Rounds(sigma, rate, 1),))
    assert curve[:60] == pytest.approx(
        np.array(ORDERS[:60]) * (rate / sigma) ** 2 / 2, rel=1e-4
    )


def test_epsilon_and_delta_are_inverse() -> None:
    curve = renyi.poisson((Rounds(4.0, 0.036, 400),))
    for delta in (1e-3, 1e-8, 1e-30):
        assert renyi.delta(curve, renyi.epsilon(curve, delta)) == pytest.approx(
            delta, rel=1e-6
        )


def divergence(rate: float, sigma: float, order: int) -> float:
    """Of two fixed-size batches, in which one record is 1 or -1 and all others are 0, by integration over the noise."""
    x = np.linspace(-60 * sigma, 60 * sigma, 400_001)
    plain = -(x**2) / (2 * sigma**2)
    upper, lower = (
        logsumexp(
            [np.log1p(-rate) + plain, np.log(rate) - (x - m) ** 2 / (2 * sigma**2)],
            axis=0,
        )
        for m in (1, -1)
    )
    normal = np.log((x[1] - x[0]) / (sigma * math.sqrt(2 * math.pi)))
    return float(logsumexp(order * upper + (1 - order) * lower) + normal) / (order - 1)


@pytest.mark.parametrize(("rate", "sigma"), [(0.036, 8.0), (0.036, 1.0), (0.3, 2.0)])
def test_the_general_bound_for_fixed_sizes_is_above_a_pair_of_such_batches(
    rate: float, sigma: float
) -> None:
    curve = renyi.fixed_size(rate, sigma / 2)  # 1 and -1 are 2 apart
    for k in (0, 1, 6):
        assert curve[k] >= divergence(rate, sigma, ORDERS[k])


@pytest.mark.parametrize("sigma", [2.0, 8.0, 40.0])
def test_the_general_bound_for_fixed_sizes_is_above_that_for_one_gaussian_release(
    sigma: float,
) -> None:
    accountant = RdpAccountant(ORDERS[:30], NeighboringRelation.REPLACE_ONE)
    accountant.compose(
        SampledWithoutReplacementDpEvent(6000, 216, GaussianDpEvent(sigma))
    )
    curve = renyi.fixed_size(0.036, sigma)[:30]
    assert np.all(curve >= accountant.rdp * (1 - 1e-9))
    assert curve[0] == pytest.approx(accountant.rdp[0], rel=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_even_moments_of_a_gaussian_pair(sigma: float) -> None:
    m = 1 / sigma**2
    found = np.exp(renyi._log_even_moments(sigma)[:2])
    assert found == pytest.approx(
        [math.expm1(m), math.exp(6 * m) - 4 * math.exp(3 * m) + 6 * math.exp(m) - 3],
        rel=1e-9,
    )


def test_all_records_are_one_gaussian() -> None:
    assert np.array_equal(renyi.fixed_size(1.0, 3.0), np.array(ORDERS) / 18)
