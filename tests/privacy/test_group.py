"""A record replaced, as one removed and another added."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from dpdl.privacy import group
from tests.privacy.gaussians import gaussian_epsilon


def spent(mu: float, eps: float) -> float:
    return float(
        norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
    )


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.5])
def test_it_is_the_smallest_such_epsilon_and_above_the_true_one(mu: float) -> None:
    found = group.epsilon(lambda e: spent(mu, e), 1e-5)
    assert (1 + math.exp(found / 2)) * spent(mu, found / 2) <= 1e-5
    assert (1 + math.exp(found / 2.001)) * spent(mu, found / 2.001) > 1e-5
    assert found > gaussian_epsilon(2 * mu, 1e-5)


def test_a_delta_that_never_falls_far_enough_proves_nothing() -> None:
    assert group.epsilon(lambda e: max(spent(1.0, e), 6e-6), 1e-5) == math.inf


def test_the_first_epsilon_is_found_though_the_sum_rises_again() -> None:
    # exp(e) times a floor of 1e-8 is above delta again from e = 7 on.
    found = group.epsilon(lambda e: spent(0.5, e) + 1e-8, 1e-5)
    assert found < 6
    assert (1 + math.exp(10)) * (spent(0.5, 10.0) + 1e-8) > 1e-5


def test_nothing_spent_costs_nothing() -> None:
    assert group.epsilon(lambda e: 1e-9, 1e-5) == 0
