"""Numbers that limit a risk are never rounded down."""

from __future__ import annotations

import math

import pytest

from dpdl.pages.risk_numbers import best_guess, up


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (8.001, "8.01"),
        (0.1, "0.1"),
        (0.10001, "0.101"),
        (0.5, "0.5"),
        (999.1, "1,000"),
        (12345.0, "12,400"),
        (0.0, "0"),
    ],
)
def test_epsilon_is_rounded_up(value: float, text: str) -> None:
    assert up(value) == text and float(text.replace(",", "")) >= value


def test_the_best_guess_is_that_of_the_best_test() -> None:
    """Randomised response tells the truth with probability e^eps / (1 + e^eps): no test of it is better."""
    assert best_guess(0.0, 0.0) == 0.5
    assert best_guess(math.log(3), 0.0) == pytest.approx(0.75, abs=1e-4)
    assert best_guess(0.0, 0.2) == pytest.approx(0.6, abs=1e-4)
    assert best_guess(800.0, 0.0) == 1.0
    for epsilon in (0.1, 1.0, 3.0):
        assert best_guess(epsilon, 1e-5) >= (math.exp(epsilon) + 1e-5) / (
            1 + math.exp(epsilon)
        )
