"""A method is known or refused; without numbers of its own it takes the method's."""

from __future__ import annotations

import pytest

from dpdl.attacks.effort import AUTO, DEFAULTS, Effort, check_method
from dpdl.errors import InputError


@pytest.mark.parametrize("method", [AUTO, *DEFAULTS])
def test_methods_are_known(method: str) -> None:
    check_method(method)
    assert Effort(method).method == method


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"method": "peal"}, "Unknown method 'peal'. Did you mean 'peel'"),
        ({"iterations": 0}, "iterations must be a whole number of at least 1, not 0"),
        ({"restarts": -1}, "restarts"),
    ],
)
def test_other_efforts_are_refused(given: dict, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        Effort(**given)


def test_given_numbers_win_over_those_of_the_method() -> None:
    some = Effort(iterations=7, seed=3).settings("peel")
    assert (some.iterations, some.restarts, some.seed) == (7, DEFAULTS["peel"][1], 3)
