"""Epsilon by privacy-loss distributions: never below the truth, close to it, and as it was where it was close."""

from __future__ import annotations

import math

import pytest

from dpdl.privacy import losses, renyi
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.renyi import Rounds
from tests.privacy.gaussians import gaussian_epsilon
from tests.reference import pld

DELTA = 1e-5
MANY = [
    Rounds(100.0, 0.001, 100_000),  # a thousandth of a default grid's point per round
    Rounds(20.0, 0.001, 3000),
    Rounds(1000.0, 0.001, 100_000),
    Rounds(50.0, 0.5, 5000),
    Rounds(15.19, 0.036, 1000),
    Rounds(0.8337, 0.1, 60),
]


@pytest.mark.parametrize("relation", sorted(CHANGES))
@pytest.mark.parametrize("rounds", MANY, ids=str)
def test_epsilon_is_not_below_the_truth_nor_far_above(
    rounds: Rounds, relation: str
) -> None:
    true = pld.exact_epsilon(rounds.sigma, rounds.rate, rounds.count, DELTA, relation)
    assert (
        true * (1 - 1e-6) <= losses.epsilon((rounds,), DELTA, relation) <= true * 1.01
    )


def test_the_reference_agrees_with_the_closed_form_of_the_gaussian_mechanism() -> None:
    true = gaussian_epsilon(math.sqrt(25) / 10, DELTA)
    assert pld.exact_epsilon(10.0, 1 - 1e-12, 25, DELTA) == pytest.approx(
        true, rel=1e-5
    )
    assert pld.exact_epsilon(
        10.0, 1 - 1e-12, 25, DELTA, "replace-one"
    ) == pytest.approx(gaussian_epsilon(2 * math.sqrt(25) / 10, DELTA), rel=1e-5)


@pytest.mark.parametrize("mu", [0.003, 0.05, 0.7, 4.0])
def test_at_rate_one_it_is_the_closed_form_however_many_rounds(mu: float) -> None:
    for count in (1, 25, 10**6):
        rounds = Rounds(math.sqrt(count) / mu, 1.0, count)
        true = gaussian_epsilon(mu, DELTA)
        assert (
            true * (1 - 1e-6)
            <= losses.epsilon((rounds,), DELTA, "add-remove")
            <= true * 1.01
        )


def test_many_rounds_at_a_small_rate_approach_their_central_limit() -> None:
    rounds = Rounds(100.0, 0.001, 100_000)
    mu = rounds.rate * math.sqrt(rounds.count * math.expm1(1 / rounds.sigma**2))
    assert losses.epsilon((rounds,), DELTA, "add-remove") == pytest.approx(
        gaussian_epsilon(mu, DELTA), rel=2e-3
    )


def test_a_grid_four_times_finer_changes_less_than_a_part_in_a_thousand() -> None:
    rounds = (Rounds(20.0, 0.001, 3000),)
    fitting = losses._fitting_grid(rounds, "add-remove")
    finer = losses._on_grid(rounds, DELTA, "add-remove", fitting / 4)
    assert losses.epsilon(rounds, DELTA, "add-remove") == pytest.approx(finer, rel=1e-3)


@pytest.mark.parametrize("relation", sorted(CHANGES))
@pytest.mark.parametrize(
    ("sigma", "rate", "count"),
    [(8.09, 0.036, 1000), (40.0, 0.04, 300), (1.2, 0.1, 2000)],
)
def test_where_a_default_grid_is_good_its_value_is_kept_to_the_bit(
    sigma: float, rate: float, count: int, relation: str
) -> None:
    rounds = (Rounds(sigma, rate, count),)
    assert (
        losses.epsilon(rounds, DELTA, relation)
        == losses._on_default_grids(rounds, DELTA, relation)[0]
    )


def test_a_gain_of_less_than_a_percent_changes_nothing() -> None:
    rounds = (
        Rounds(300.0, 0.0436, 4200),
    )  # the grid is suspected, but costs half a percent only
    found, grid = losses._on_default_grids(rounds, DELTA, "replace-one")
    assert losses.GOOD * grid > losses._deviation(rounds, "replace-one")
    assert losses._on_grid(rounds, DELTA, "replace-one", grid / 4) < found
    assert losses.epsilon(rounds, DELTA, "replace-one") == found


def test_a_delta_below_what_doubles_resolve_is_left_to_renyi() -> None:
    rounds = (Rounds(4.0, 0.036, 1000),)
    assert losses._on_grid(rounds, 1e-13, "add-remove", 1e-3) == math.inf
    assert (
        losses.epsilon(rounds, 1e-13, "add-remove")
        == renyi.epsilon(renyi.poisson(rounds), 1e-13)
        < 2.5
    )


@pytest.mark.parametrize(
    "kind", [Rounds(0.001, 0.5, 100), Rounds(1000.0, 0.01, 10**9)], ids=str
)
def test_what_no_grid_can_hold_is_left_to_renyi(kind: Rounds) -> None:
    rounds = (kind,)
    assert losses._on_default_grids(rounds, DELTA, "add-remove")[0] == math.inf
    assert (
        losses.epsilon(rounds, DELTA, "add-remove")
        == renyi.epsilon(renyi.poisson(rounds), DELTA)
        < math.inf
    )


def test_kinds_of_rounds_with_a_grid_that_fits_them_together() -> None:
    one, other = Rounds(50.0, 0.001, 20_000), Rounds(100.0, 0.002, 20_000)
    both = losses.epsilon((one, other), DELTA, "add-remove")
    # Both have the same limit, and so have twice as many of either.
    assert both == pytest.approx(
        losses.epsilon((Rounds(50.0, 0.001, 40_000),), DELTA, "add-remove"), rel=3e-3
    )


@pytest.mark.parametrize("sigma", [0.7325, 0.735, 0.7375])
def test_losses_at_the_end_of_the_doubles_are_counted_without_a_word(
    sigma: float,
) -> None:
    """Warnings are errors here; what the library divides overflows for an epsilon near 700."""
    rounds = (0.7, sigma, 0.8)
    found = [
        losses.epsilon((Rounds(one, 0.5, 2000),), DELTA, "add-remove") for one in rounds
    ]
    assert found == sorted(found, reverse=True) and 600 < found[1] < 800
