"""Rounds whose mechanisms were chosen by looking at earlier ones."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpdl.errors import InputError
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.filter import SHARE, divergence, filtered_epsilon, order_for
from dpdl.privacy.renyi import ORDERS

ROUND = Step(4.36, 216, 6000)
WHOLE = Step(8.0, 1, 1)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0, 8.0])
def test_it_is_never_below_what_the_accountant_proves(
    budget: float, relation: str
) -> None:
    for steps in ([(ROUND, 500)], [(WHOLE, 5)], [(ROUND, 300), (WHOLE, 2)]):
        found = filtered_epsilon(steps, budget, 1e-5, relation)
        assert found >= epsilon(steps, 1e-5, relation)


@pytest.mark.parametrize("budget", [1.0, 3.0, 6.0, 10.0])
def test_it_affords_at_least_four_fifths_of_the_rounds(budget: float) -> None:
    def afforded(cost: Callable[[int], float]) -> int:
        return bisect_right(range(2000), budget, key=cost) - 1

    most = afforded(lambda n: epsilon([(WHOLE, n)], 1e-5))
    fit = afforded(lambda n: filtered_epsilon([(WHOLE, n)], budget, 1e-5))
    assert 0.8 * most - 1 <= fit <= most


def test_the_order_depends_on_the_budget_alone() -> None:
    assert order_for(1.0, 1e-5) == 18 and order_for(6.0, 1e-6) == 5
    assert order_for(1.0, 1e-5) in ORDERS


def test_steps_add_up_in_any_order() -> None:
    steps = [(ROUND, 300), (WHOLE, 2)]
    whole = filtered_epsilon(steps, 3.0, 1e-5)
    parts = [filtered_epsilon([pair], 3.0, 1e-5) for pair in steps]
    price = filtered_epsilon([(Step(1e6, 1, 1), 1)], 3.0, 1e-5)
    assert whole == pytest.approx(sum(parts) - price, rel=1e-6)
    assert filtered_epsilon(steps[::-1], 3.0, 1e-5) == pytest.approx(whole, rel=1e-12)


def test_the_divergence_of_a_gaussian_is_the_closed_form() -> None:
    assert divergence(WHOLE, 5, "add-remove") == pytest.approx(5 / 128)
    assert divergence(WHOLE, 5, "replace-one") == pytest.approx(4 * 5 / 128)


@pytest.mark.parametrize("order", [2, 5, 18])
def test_the_divergence_of_a_sampled_round_is_that_of_its_mixture(order: int) -> None:
    step = Step(1.5, 1, 10)
    x = np.linspace(-30, 30, 400_001)
    without, with_it = norm.pdf(x, 0, 1.5), norm.pdf(x, 1, 1.5)
    mixed = 0.9 * without + 0.1 * with_it
    ratio = np.trapezoid(without * (mixed / without) ** order, x)
    assert divergence(step, order, "add-remove") == pytest.approx(
        math.log(ratio) / (order - 1), rel=1e-6
    )


@pytest.mark.parametrize("order", [2, 5, 18])
def test_a_record_replaced_is_bounded_by_one_removed_and_one_added(order: int) -> None:
    step = Step(2.0, 1, 10)
    x = np.linspace(-40, 40, 400_001)
    laws = [0.9 * norm.pdf(x, 0, 2.0) + 0.1 * norm.pdf(x, m, 2.0) for m in (1, -1)]
    true = math.log(np.trapezoid(laws[1] * (laws[0] / laws[1]) ** order, x)) / (
        order - 1
    )
    assert 0 < true <= divergence(step, order, "replace-one")


def test_batches_of_fixed_size_are_about_replacement() -> None:
    fixed = Step(9.0, 10, 1000, fixed=True)
    assert filtered_epsilon([(fixed, 50)], 3.0, 1e-5, "replace-one") < math.inf
    with pytest.raises(InputError, match="replace-one only"):
        filtered_epsilon([(fixed, 50)], 3.0, 1e-5)
    with pytest.raises(InputError, match="relation must be"):
        filtered_epsilon([(ROUND, 1)], 3.0, 1e-5, "same")


def test_what_has_no_bound_has_none() -> None:
    assert filtered_epsilon([], 1.0, 1e-5) == 0.0
    assert filtered_epsilon([(ROUND, 0)], 1.0, 1e-5) == 0.0
    assert filtered_epsilon([(replace(ROUND, sigma=math.inf), 9)], 1.0, 1e-5) == 0.0
    assert filtered_epsilon([(replace(ROUND, sigma=0.0), 1)], 1.0, 1e-5) == math.inf


def test_proofs_that_may_fail_have_a_share_of_delta() -> None:
    unsure = replace(ROUND, lost=SHARE * 1e-5 / 10)
    whole = filtered_epsilon([(ROUND, 10)], 1.0, 1e-5)
    assert filtered_epsilon([(unsure, 10)], 1.0, 1e-5) == whole
    assert filtered_epsilon([(unsure, 11)], 1.0, 1e-5) == math.inf


def test_who_plans_by_what_was_seen_can_exceed_a_delta_that_was_only_composed() -> None:
    """Why a filter is needed: two plans with equal delta, chosen by the luck of the first run."""
    eps, first, second = 1.0, 0.25, 0.3  # two Gaussian runs
    losses = np.linspace(-3, 3, 200_001)
    weight = norm.pdf(losses, first**2 / 2, first)

    def composed(after: np.ndarray) -> float:
        """The delta of both runs, if the second one has these, given the loss of the first."""
        return float(np.trapezoid(weight * after, losses))

    def gaussian(left: np.ndarray) -> np.ndarray:
        rest = np.exp(left) * norm.cdf(-left / second - second / 2)
        return norm.cdf(-left / second + second / 2) - rest

    one = gaussian(eps - losses)
    # The other plan tells everything with probability p, and nothing otherwise.
    nothing = np.maximum(0, -np.expm1(eps - losses))
    p = (composed(one) - composed(nothing)) / (1 - composed(nothing))
    other = p + (1 - p) * nothing
    assert composed(one) == pytest.approx(composed(other)), "each alone is within delta"
    assert composed(np.maximum(one, other)) > 1.2 * composed(one)
