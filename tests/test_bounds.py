"""Numbers that nobody could mean, or no machine could work off, are refused."""

from __future__ import annotations

import math

import pytest

from dpdl.bounds import LARGEST, MOST, check_size, count, real, whole_in
from dpdl.errors import InputError
from dpdl.experiment.experiment import from_mapping


@pytest.mark.parametrize("name", sorted(MOST))
def test_the_most_is_accepted_and_one_more_is_not(name: str) -> None:
    assert count(name, MOST[name]) == MOST[name]
    with pytest.raises(InputError, match=f"^{name} must be at most {MOST[name]}, not"):
        count(name, MOST[name] + 1)


def test_a_count_is_at_least_one() -> None:
    with pytest.raises(InputError, match="trials must be a whole number of at least 1"):
        count("trials", 0)


def test_what_has_no_bound_of_its_own_fits_a_word() -> None:
    check_size("anything", LARGEST)
    with pytest.raises(InputError, match="anything must be at most"):
        check_size("anything", -LARGEST - 1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e300, 1e-300])
def test_a_number_that_cannot_be_computed_with_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"^sigma must be"):
        real("sigma", value)


def test_zero_and_what_is_not_finite_are_left_to_the_option() -> None:
    for value in (0.0, math.inf, math.nan):
        check_size("lr", value)


@pytest.mark.parametrize(
    "values",
    [
        {"rounds": 10**30},
        {"agents": 10**6},
        {"seed": 10**5000},
        {"sigma": 1e200},
        {"sigma": 10**400},
        {"lr": 1e-300},
        {"batch": -(10**400)},
    ],
    ids=range(7),
)
def test_an_experiment_is_within_the_bounds(values: dict[str, object]) -> None:
    (name,) = values
    with pytest.raises(InputError, match=f"^{name} must be"):
        from_mapping(values)


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), (" 7 ", 7), ("007", 7), ("0" * 5000 + "3", 3), ("0", 0)],
    ids=range(5),
)
def test_a_whole_number_in_a_text(text: str, number: int) -> None:
    assert whole_in(text) == number


@pytest.mark.parametrize(
    "text", ["", "-1", "1.0", "x", "٣", "9" * 19, "9" * 5000], ids=range(7)
)
def test_a_text_that_is_no_whole_number(text: str) -> None:
    assert whole_in(text) is None
