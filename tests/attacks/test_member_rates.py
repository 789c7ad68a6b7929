"""Rates are what they are said to be, and intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from dpdl.attacks.member_rates import (
    at_rate,
    auc,
    auc_interval,
    rate_interval,
    rates_of,
    roc,
    thinned,
)
from dpdl.errors import InputError


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    draw = np.random.default_rng(0)
    members, others = draw.integers(0, 9, 40) + 1.0, draw.integers(0, 9, 31) + 0.0
    pairs = [(a > b) + 0.5 * (a == b) for a in members for b in others]
    assert auc(members, others) == pytest.approx(np.mean(pairs))
    assert auc(-members, -others) == pytest.approx(1 - np.mean(pairs))


def test_the_curve_of_a_small_example() -> None:
    fpr, tpr = roc(np.array([3.0, 2.0]), np.array([2.0, 1.0]))
    assert fpr.tolist() == [0, 0, 0.5, 1] and tpr.tolist() == [0, 0.5, 1, 1]


def test_a_threshold_is_chosen_and_measured_on_different_records() -> None:
    """99 non-members choose: one of them may be above 1 %, so the largest is the threshold.

    The others measure.
    """
    others = np.empty(198)
    others[::2], others[1::2] = np.arange(99), np.arange(99) + 2.5
    members = np.array([98.0, 98.5, 99.0, 10.0])
    assert at_rate(members, others, 0.01) == (98.0, 0.5, 3 / 99)
    assert at_rate(members, others, 0.02) == (97.0, 0.75, 4 / 99)
    with pytest.raises(InputError, match="cannot be resolved with 196"):
        at_rate(members, others[:196], 0.01)


def test_false_positives_are_as_rare_as_promised() -> None:
    """Averaged over many draws, the rate on fresh records is 1 / 101 for 100 that choose."""
    draw = np.random.default_rng(1)
    found = [at_rate(np.zeros(1), draw.normal(size=200), 0.01)[2] for _ in range(2000)]
    assert np.mean(found) == pytest.approx(1 / 101, abs=4 * np.std(found) / 2000**0.5)


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (3, 20), (7, 7)])
def test_intervals_of_rates_are_those_of_clopper_and_pearson(
    hits: int, trials: int
) -> None:
    expected = binomtest(hits, trials).proportion_ci(0.95, "exact")
    assert rate_interval(hits, trials) == pytest.approx((expected.low, expected.high))


def test_intervals_of_areas_cover() -> None:
    draw, covered = np.random.default_rng(2), 0
    truth = 0.7602  # Phi(1 / sqrt 2)
    for _ in range(400):
        area = auc(draw.normal(1.0, 1.0, 15), draw.normal(size=15))
        low, high = auc_interval(area, 15, 15)
        assert 0 <= low <= area <= high <= 1
        covered += low < truth < high
    assert 0.92 <= covered / 400 <= 0.99
    low, high = auc_interval(1.0, 15, 15)
    assert 0.8 < low < 0.95 and high == 1
    assert auc_interval(0.0, 15, 15) == pytest.approx((0.0, 1 - low), abs=1e-6)


def test_curves_are_thinned_and_keep_their_ends() -> None:
    draw = np.random.default_rng(3)
    found = rates_of(draw.normal(1, 1, 2000), draw.normal(size=2000))
    assert 100 < len(found.fpr) == len(found.tpr) <= 200
    assert (found.fpr[0], found.tpr[0], found.fpr[-1], found.tpr[-1]) == (0, 0, 1, 1)
    assert sum(0 < rate <= 0.01 for rate in found.fpr) >= 5


def test_few_points_are_all_kept() -> None:
    assert thinned(7).tolist() == list(range(7))


def test_below_two_hundred_others_nothing_is_said_about_one_percent() -> None:
    few = rates_of(np.arange(5.0), np.arange(199.0))
    assert (few.tpr_at_1_percent, few.tpr_interval, few.fpr_measured) == (None,) * 3
    assert "cannot be resolved with 199 non-members" in few.note
    enough = rates_of(np.arange(5.0), np.arange(200.0))
    assert enough.tpr_at_1_percent == 0 and "on one half" in enough.note
