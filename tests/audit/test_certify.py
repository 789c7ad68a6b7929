from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from dpdl.audit import AuditResult
from dpdl.audit.certify import clopper_pearson, gdp, gdp_epsilon, upper_rate
from dpdl.errors import InputError
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.threats import EAVESDROPPER

both = pytest.mark.parametrize("certify", [clopper_pearson, gdp])


def most_failures(repeats: int, probability: float = 0.05) -> float:
    """What a binomial count exceeds once in 10,000 times."""
    return repeats * probability + 3.7 * math.sqrt(
        repeats * probability * (1 - probability)
    )


@both
@pytest.mark.parametrize("mu", [0.7, 2.0])
def test_the_bound_is_below_the_true_epsilon_and_not_far_below(
    certify, mu: float
) -> None:
    draw, repeats, delta = np.random.default_rng(3), 120, 0.01
    truth = gdp_epsilon(mu, delta)
    found = np.array([
        certify(mu + draw.standard_normal(1000), draw.standard_normal(1000), delta, 0.95).epsilon
        for _ in range(repeats)
    ])  # fmt: skip
    assert (found > truth).sum() <= most_failures(repeats)
    assert np.median(found) > (0.5 if certify is gdp else 0.3) * truth


def test_counting_is_tight_for_randomised_response() -> None:
    """The test whose errors are all there is.

    Here the bound must fail now and then, but not more often than stated.
    """
    draw, repeats, truth = np.random.default_rng(4), 400, 1.5
    says = math.exp(truth) / (1 + math.exp(truth))
    found = []
    for _ in range(repeats):
        inside = (draw.random(2000) < says).astype(float)
        outside = (draw.random(2000) > says).astype(float)
        found.append(clopper_pearson(inside, outside, 1e-9, 0.8).epsilon)
    assert sum(one > truth for one in found) <= most_failures(repeats, 0.2)
    assert np.median(found) > 0.85 * truth


def test_randomised_response_is_why_gdp_is_only_an_estimate() -> None:
    """A mechanism of which everything is known, epsilon = 1 and delta = 0.

    The Gaussian reading rates it above 5.
    """
    draw, truth = np.random.default_rng(8), 1.0
    says = math.exp(truth) / (1 + math.exp(truth))
    inside, outside = (
        (draw.random(20_000) < says).astype(float),
        (draw.random(20_000) > says).astype(float),
    )
    by_counting, by_gdp = (
        certify(inside, outside, 1e-5, 0.95) for certify in (clopper_pearson, gdp)
    )
    assert 0.9 < by_counting.epsilon <= truth
    assert by_gdp.epsilon > 5
    result = AuditResult(
        *(EAVESDROPPER, 1.0, 1.0, 0, UNKNOWN, Epsilon(truth)),
        *(by_counting, by_gdp, 1.0, 1.0, None),
    )
    assert result.certified == by_counting.epsilon
    assert not result.refutes_proof and "stays below" in result.verdict


@both
def test_a_null_audit_certifies_nothing(certify) -> None:
    draw, repeats = np.random.default_rng(5), 400
    found = [
        certify(
            draw.standard_normal(300), draw.standard_normal(300), 1e-5, 0.95
        ).epsilon
        for _ in range(repeats)
    ]
    assert sum(value > 0 for value in found) <= most_failures(repeats)


@both
def test_without_records_of_a_kind_nothing_is_certified(certify) -> None:
    some = np.random.default_rng(6).standard_normal(50)
    assert certify(np.zeros(0), some, 1e-5, 0.95).epsilon == 0
    assert certify(some, np.zeros(0), 1e-5, 0.95).epsilon == 0
    assert certify(np.zeros(0), np.zeros(0), 1e-5, 0.95).epsilon == 0
    assert certify(np.zeros(50), np.zeros(50), 1e-5, 0.95).epsilon == 0


@both
def test_the_half_that_certifies_does_not_choose(certify) -> None:
    draw = np.random.default_rng(7)
    inside, outside = 1 + draw.standard_normal(400), draw.standard_normal(400)
    before = certify(inside, outside, 1e-5, 0.95)
    inside[1::2], outside[1::2] = (
        draw.standard_normal(200),
        1 + draw.standard_normal(200),
    )
    after = certify(inside, outside, 1e-5, 0.95)
    assert before.threshold == after.threshold
    assert before.epsilon > 0 == after.epsilon


def test_upper_rates_are_those_of_clopper_and_pearson() -> None:
    errors = np.array([0, 1, 7, 39, 40])
    expected = [
        binomtest(int(k), 40, alternative="less").proportion_ci(0.975).high
        for k in errors
    ]
    assert upper_rate(errors, 40, 0.975) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mu", "delta"), [(0.3, 1e-5), (1.0, 1e-5), (1.0, 0.05), (6.0, 1e-5)]
)
def test_the_epsilon_of_gdp_is_that_of_the_gaussian_mechanism(
    mu: float, delta: float
) -> None:
    value = gdp_epsilon(mu, delta)
    assert norm.cdf(-value / mu + mu / 2) - math.exp(value) * norm.cdf(
        -value / mu - mu / 2
    ) == pytest.approx(delta)
    assert value == pytest.approx(epsilon([(Step(1 / mu, 1, 1), 1)], delta), abs=2e-3)


def test_a_little_gdp_costs_no_epsilon() -> None:
    assert gdp_epsilon(0.0, 1e-5) == 0
    assert gdp_epsilon(1e-6, 1e-5) == 0


@both
def test_wrong_input_is_refused(certify) -> None:
    with pytest.raises(InputError, match="confidence"):
        certify(np.ones(5), np.ones(5), 1e-5, 1.0)
    with pytest.raises(InputError, match="finite"):
        certify(np.array([np.nan]), np.ones(5), 1e-5, 0.95)
