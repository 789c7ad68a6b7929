"""The accountant against published values, closed forms, and an independent computation."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from dpdl.errors import InputError
from dpdl.privacy.accounting import Step, calibrate, epsilon, rdp_epsilon
from tests.reference import pld

DELTA = 1e-5
MNIST = Step(1.0, 216, 6000)


def at(sigma: float, step: Step = MNIST) -> Step:
    return Step(sigma, step.batch, step.records, step.fixed)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Closed form of the Gaussian mechanism (Balle and Wang): smallest epsilon with delta(epsilon) <= delta."""
    low, high = 0.0, 200.0
    while high - low > 1e-9:
        eps = (low + high) / 2
        spent = norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
        low, high = (eps, high) if spent > delta else (low, eps)
    return high


@pytest.mark.parametrize(("target", "by_pld", "by_rdp"), [(0.25, 15.19, 16.66), (0.5, 8.09, 8.82), (1.0, 4.36, 4.72)])
def test_published_noise_multipliers(target: float, by_pld: float, by_rdp: float) -> None:
    assert calibrate(target, DELTA, MNIST, 1000) == pytest.approx(by_pld, abs=0.006)
    assert rdp_epsilon([(at(by_rdp), 1000)], DELTA) == pytest.approx(target, rel=2e-3)


def test_one_joint_release_costs_more_than_separately_sampled_ones_would_say() -> None:
    joint = epsilon([(at(4 / math.sqrt(10)), 1000)], DELTA)
    separate = epsilon([(at(4.0), 10_000)], DELTA)
    assert joint == pytest.approx(4.95, abs=0.01)
    assert separate == pytest.approx(3.96, abs=0.01)


@pytest.mark.parametrize("target", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("step", [Step(1.0, 64, 1500), Step(1.0, 216, 2000)])
def test_calibration_and_accounting_are_inverse_within_half_a_percent(target: float, step: Step) -> None:
    found = epsilon([(at(calibrate(target, DELTA, step, 300), step), 300)], DELTA)
    assert found <= target
    assert found == pytest.approx(target, rel=5e-3)


@pytest.mark.parametrize(
    ("sigma", "batch", "records", "rounds"), [(2.3, 50, 1234, 137), (6.0, 100, 450, 500), (1.1, 20, 2500, 800)]
)
def test_an_independent_computation_gives_the_same_three_digits(sigma, batch, records, rounds) -> None:
    found = epsilon([(Step(sigma, batch, records), rounds)], DELTA)
    assert found == pytest.approx(pld.epsilon(sigma, batch / records, rounds, DELTA), rel=5e-4)


@pytest.mark.parametrize("sigma", [0.8, 2.0, 9.0])
def test_pld_is_never_above_renyi(sigma: float) -> None:
    assert epsilon([(at(sigma), 400)], DELTA) <= rdp_epsilon([(at(sigma), 400)], DELTA)


def test_without_sampling_it_is_the_closed_form_of_the_gaussian_mechanism() -> None:
    everybody = Step(5.0, 10, 10)
    assert epsilon([(everybody, 9)], DELTA) == pytest.approx(gaussian_epsilon(3 / 5, DELTA), rel=2e-3)
    replaced = epsilon([(everybody, 9)], DELTA, "replace-one")
    assert replaced == pytest.approx(gaussian_epsilon(2 * 3 / 5, DELTA), rel=2e-3)
    # The Rényi accountant of dp-accounting ignores the factor 2 of a replacement; ours supplies it.
    assert rdp_epsilon([(everybody, 9)], DELTA, "replace-one") >= replaced


def test_replacing_a_record_costs_more_than_adding_one() -> None:
    assert epsilon([(at(4.0), 100)], DELTA, "replace-one") > 1.5 * epsilon([(at(4.0), 100)], DELTA)


def test_fixed_size_batches_are_accounted_by_renyi_and_are_loose() -> None:
    fixed = Step(8.0, 216, 6000, fixed=True)
    assert epsilon([(fixed, 500)], DELTA) == rdp_epsilon([(fixed, 500)], DELTA)
    assert epsilon([(fixed, 500)], DELTA) > epsilon([(at(8.0), 500)], DELTA, "replace-one")


def test_different_steps_add_up() -> None:
    both = epsilon([(at(4.0), 100), (Step(3.0, 50, 6000), 200)], DELTA)
    assert both > max(epsilon([(at(4.0), 100)], DELTA), epsilon([(Step(3.0, 50, 6000), 200)], DELTA))
    assert epsilon([(at(4.0), 60), (at(4.0), 40)], DELTA) == pytest.approx(epsilon([(at(4.0), 100)], DELTA), rel=1e-6)


def test_no_noise_is_infinite_and_no_round_is_free() -> None:
    assert math.isinf(epsilon([(at(0.0), 1)], DELTA))
    assert epsilon([(at(1.0), 0)], DELTA) == 0
    assert epsilon([], DELTA) == 0


def test_unknown_relations_are_refused() -> None:
    with pytest.raises(InputError, match="add-remove, replace-one"):
        epsilon([(at(1.0), 1)], DELTA, "swap")
    with pytest.raises(InputError, match="add-remove only"):
        rdp_epsilon([(at(1.0), 1)], DELTA, "replace-one")
