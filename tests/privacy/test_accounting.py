"""The accountant against published values, closed forms, and an independent computation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpdl.errors import InputError
from dpdl.privacy.accounting import Step, calibrate, epsilon, rdp_epsilon
from tests.privacy.gaussians import gaussian_epsilon
from tests.reference import pld

DELTA = 1e-5
MNIST = Step(1.0, 216, 6000)


def at(sigma: float, step: Step = MNIST) -> Step:
    return replace(step, sigma=sigma)


@pytest.mark.parametrize(
    ("target", "by_pld", "by_rdp"),
    [(0.25, 15.19, 16.66), (0.5, 8.09, 8.82), (1.0, 4.36, 4.72)],
)
def test_published_noise_multipliers(
    target: float, by_pld: float, by_rdp: float
) -> None:
    assert calibrate(target, DELTA, MNIST, 1000) == pytest.approx(by_pld, abs=0.006)
    assert rdp_epsilon([(at(by_rdp), 1000)], DELTA) == pytest.approx(target, rel=2e-3)


@pytest.mark.parametrize(
    ("target", "records", "sigma"),
    [
        (0.25, 6000, 8.403605952889686),
        (1.0, 6000, 2.520103142964251),
        (4.0, 5000, 1.1182568931800758),
    ],
)
def test_the_noise_of_committed_runs_is_found_again(
    target: float, records: int, sigma: float
) -> None:
    # results/sound, dp-dpsgd; the last bits are the machine's.
    assert calibrate(target, DELTA, Step(1.0, 216, records), 300) == pytest.approx(
        sigma, rel=1e-9
    )


def test_one_joint_release_costs_more_than_separately_sampled_ones_would_say() -> None:
    joint = epsilon([(at(4 / math.sqrt(10)), 1000)], DELTA)
    separate = epsilon([(at(4.0), 10_000)], DELTA)
    assert joint == pytest.approx(4.95, abs=0.01)
    assert separate == pytest.approx(3.96, abs=0.01)


@pytest.mark.parametrize("target", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("step", [Step(1.0, 64, 1500), Step(1.0, 216, 2000)])
def test_calibration_and_accounting_are_inverse_within_half_a_percent(
    target: float, step: Step
) -> None:
    found = epsilon([(at(calibrate(target, DELTA, step, 300), step), 300)], DELTA)
    assert found <= target
    assert found == pytest.approx(target, rel=5e-3)


@pytest.mark.parametrize(
    ("sigma", "batch", "records", "rounds"),
    [(2.3, 50, 1234, 137), (6.0, 100, 450, 500), (1.1, 20, 2500, 800)],
)
def test_an_independent_computation_gives_the_same_three_digits(
    sigma, batch, records, rounds
) -> None:
    found = epsilon([(Step(sigma, batch, records), rounds)], DELTA)
    assert found == pytest.approx(
        pld.epsilon(sigma, batch / records, rounds, DELTA), rel=5e-4
    )


@pytest.mark.parametrize("sigma", [0.8, 2.0, 9.0])
def test_pld_is_never_above_renyi(sigma: float) -> None:
    assert epsilon([(at(sigma), 400)], DELTA) <= rdp_epsilon([(at(sigma), 400)], DELTA)


def test_without_sampling_it_is_the_closed_form_of_the_gaussian_mechanism() -> None:
    everybody = Step(5.0, 10, 10)
    assert epsilon([(everybody, 9)], DELTA) == pytest.approx(
        gaussian_epsilon(3 / 5, DELTA), rel=2e-3
    )
    replaced = epsilon([(everybody, 9)], DELTA, "replace-one")
    assert replaced == pytest.approx(gaussian_epsilon(2 * 3 / 5, DELTA), rel=2e-3)
    # The Rényi accountant of dp-accounting ignores the factor 2 of a replacement; ours supplies it.
    assert rdp_epsilon([(everybody, 9)], DELTA, "replace-one") >= replaced


def test_replacing_a_record_costs_more_than_adding_one() -> None:
    assert epsilon([(at(4.0), 100)], DELTA, "replace-one") > 1.5 * epsilon(
        [(at(4.0), 100)], DELTA
    )


def test_fixed_size_batches_are_accounted_by_renyi_and_are_loose() -> None:
    fixed = Step(8.0, 216, 6000, fixed=True)
    found = epsilon([(fixed, 500)], DELTA, "replace-one")
    assert found == rdp_epsilon([(fixed, 500)], DELTA, "replace-one")
    assert found > epsilon([(at(8.0), 500)], DELTA, "replace-one")


def test_fixed_size_batches_have_no_record_added_or_removed() -> None:
    fixed = Step(8.0, 216, 6000, fixed=True)
    for account in (epsilon, rdp_epsilon):
        with pytest.raises(InputError, match="replace-one only"):
            account([(fixed, 500)], DELTA, "add-remove")


def test_different_steps_add_up() -> None:
    both = epsilon([(at(4.0), 100), (Step(3.0, 50, 6000), 200)], DELTA)
    assert both > max(
        epsilon([(at(4.0), 100)], DELTA), epsilon([(Step(3.0, 50, 6000), 200)], DELTA)
    )
    assert epsilon([(at(4.0), 60), (at(4.0), 40)], DELTA) == pytest.approx(
        epsilon([(at(4.0), 100)], DELTA), rel=1e-6
    )


def test_no_noise_is_infinite_and_no_round_is_free() -> None:
    assert math.isinf(epsilon([(at(0.0), 1)], DELTA))
    assert math.isinf(epsilon([(at(1e-200), 1)], DELTA))
    assert epsilon([(at(1.0), 0)], DELTA) == 0
    assert epsilon([(at(math.inf), 7)], DELTA) == 0
    assert epsilon([], DELTA) == 0


def test_unknown_relations_are_refused() -> None:
    with pytest.raises(InputError, match="add-remove, replace-one"):
        epsilon([(at(1.0), 1)], DELTA, "swap")
    with pytest.raises(InputError, match="add-remove only"):
        rdp_epsilon([(at(1.0), 1)], DELTA, "replace-one")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sigma": math.nan}, "sigma must be a number from 0 on, not nan"),
        ({"sigma": -1.0}, "sigma must be a number from 0 on, not -1"),
        ({"batch": 0}, "batch must be at least 1, not 0"),
        ({"records": 0}, "records must be at least 1, not 0"),
        (
            {"batch": 7000, "fixed": True},
            "A fixed-size batch of 7000 cannot be drawn from 6000 records",
        ),
        ({"lost": -1e-9}, "lost must be a probability"),
        ({"lost": math.nan}, "lost must be a probability"),
    ],
)
def test_what_is_no_step_is_refused(changed: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(MNIST, **changed)


def test_fewer_records_than_a_poisson_batch_all_take_part() -> None:
    assert Step(5.0, 20, 10).rate == 1
    assert epsilon([(Step(5.0, 20, 10), 9)], DELTA) == epsilon(
        [(Step(5.0, 10, 10), 9)], DELTA
    )


def test_steps_that_cannot_have_happened_together_are_refused() -> None:
    with pytest.raises(InputError, match="Fixed-size and Poisson batches"):
        epsilon(
            [(at(4.0), 10), (Step(4.0, 216, 6000, fixed=True), 10)],
            DELTA,
            "replace-one",
        )
    with pytest.raises(InputError, match="less than 0 times"):
        epsilon([(at(4.0), -1)], DELTA)


def test_a_proof_that_may_fail_takes_its_probability_off_delta() -> None:
    step = Step(4.0, 216, 6000, lost=2e-9)
    assert epsilon([(step, 1000), (at(4.0), 100)], DELTA) == epsilon(
        [(at(4.0), 1000), (at(4.0), 100)], DELTA - 2e-6
    )
    assert math.isinf(epsilon([(step, 5000)], DELTA))
    fixed = Step(8.0, 216, 6000, fixed=True)
    failing = [(replace(fixed, lost=2e-9), 1000)]
    less = epsilon([(fixed, 1000)], DELTA - 2e-6, "replace-one")
    assert epsilon(failing, DELTA, "replace-one") == less
    assert math.isinf(epsilon([(replace(step, sigma=math.inf), 5000)], DELTA))


def test_the_cost_of_a_failing_proof_is_that_of_a_mechanism_that_does_fail() -> None:
    # With probability 1e-6 the record itself is given away, otherwise one Gaussian release.
    found = epsilon([(Step(2.0, 10, 10, lost=1e-6), 1)], DELTA)
    true = gaussian_epsilon(1 / 2, (DELTA - 1e-6) / (1 - 1e-6))
    assert true <= found <= true * 1.002


def test_later_answers_that_depend_on_earlier_ones_cost_nothing_when_a_record_is_added_or_removed() -> (
    None
):
    step = replace(at(4.0), adaptive=True)
    assert epsilon([(step, 300)], DELTA) == epsilon([(at(4.0), 300)], DELTA)
    whole = Step(40.0, 10, 10, adaptive=True)
    assert epsilon([(whole, 9)], DELTA, "replace-one") == epsilon(
        [(Step(40.0, 10, 10), 9)], DELTA, "replace-one"
    )


@pytest.mark.parametrize("sigma", [1.5, 4.0, 12.0])
def test_a_replacement_in_an_adaptive_round_is_a_removal_and_an_addition(
    sigma: float,
) -> None:
    found = epsilon([(replace(at(sigma), adaptive=True), 300)], DELTA, "replace-one")
    assert found > epsilon([(at(sigma), 300)], DELTA, "replace-one")
    half = found / 2
    assert half == pytest.approx(
        epsilon([(at(sigma), 300)], DELTA / (1 + math.exp(half))), rel=2e-3
    )


def test_a_failing_proof_is_paid_for_on_both_ways_of_a_replacement() -> None:
    def half_of(lost: float, delta: float) -> float:
        return (
            epsilon(
                [(replace(at(4.0), adaptive=True, lost=lost), 300)],
                delta,
                "replace-one",
            )
            / 2
        )

    half = half_of(1e-9, DELTA)
    assert half == pytest.approx(
        half_of(0.0, DELTA - (1 + math.exp(half)) * 3e-7), rel=1e-3
    )
    assert math.isinf(half_of(2e-8, DELTA))  # 6e-6 twice is more than delta


def test_an_adaptive_pair_spends_less_than_is_said() -> None:
    """Two answers on one draw; the second turns its sign with the first. Its delta is integrated in the plane."""
    q, sigma = 0.3, 2.0
    y = np.linspace(-20, 20, 2001)

    def density(first: float, second: np.ndarray) -> np.ndarray:
        later = norm.pdf(y[None, :], second[:, None] * np.ones_like(y), sigma)
        return norm.pdf(y, first, sigma)[:, None] * later

    absent, turned = density(0.0, 0 * y), density(1.0, np.sign(y))
    other = density(-1.0, -np.sign(y))
    step = Step(sigma / math.sqrt(2), 3, 10, adaptive=True)
    for eps in (0.1, 0.5):
        gap = (
            (1 - q) * absent
            + q * turned
            - math.exp(eps) * ((1 - q) * absent + q * other)
        )
        delta = float(np.maximum(gap, 0).sum() * (y[1] - y[0]) ** 2)
        assert delta > 1e-3
        assert epsilon([(step, 1)], delta, "replace-one") >= eps


def test_fixed_size_batches_of_adaptive_rounds_have_a_looser_bound() -> None:
    fixed = Step(8.0, 216, 6000, fixed=True)
    plain = epsilon([(fixed, 500)], DELTA, "replace-one")
    assert (
        plain
        < epsilon([(replace(fixed, adaptive=True), 500)], DELTA, "replace-one")
        < math.inf
    )
    whole = Step(80.0, 10, 10, fixed=True, adaptive=True)
    known = epsilon([(replace(whole, adaptive=False), 9)], DELTA, "replace-one")
    assert epsilon([(whole, 9)], DELTA, "replace-one") == pytest.approx(known, rel=1e-2)


@pytest.mark.parametrize(
    ("step", "relation"),
    [
        (Step(1.0, 216, 6000, lost=3e-8), "add-remove"),
        (Step(1.0, 216, 6000, adaptive=True), "replace-one"),
        (Step(1.0, 216, 6000, fixed=True, adaptive=True), "replace-one"),
    ],
)
def test_calibration_knows_all_of_a_step_and_is_never_above_the_target(
    step: Step, relation: str
) -> None:
    found = calibrate(0.5, DELTA, step, 200, relation)
    assert 0.497 < epsilon([(at(found, step), 200)], DELTA, relation) <= 0.5
    assert found > calibrate(0.5, DELTA, Step(1.0, 216, 6000), 200)


def test_calibration_ends_where_hardly_any_noise_is_needed() -> None:
    rare = Step(
        1.0, 1, 10**120
    )  # the record takes part with a probability far below delta
    found = calibrate(10.0, 1e-3, rare, 1)
    assert found < 0.1
    assert epsilon([(at(found, rare), 1)], 1e-3) <= 10.0


@pytest.mark.parametrize(
    ("target", "rounds"), [(0.0, 5), (math.inf, 5), (math.nan, 5), (1.0, 0)]
)
def test_calibration_for_nothing_is_refused(target: float, rounds: int) -> None:
    with pytest.raises(InputError, match="No noise can be found"):
        calibrate(target, DELTA, MNIST, rounds)
