"""What noise leaves of a cosine is what sampling finds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.theory.noisy_cosine import (
    hiding_sigma,
    price_in_variance,
    seen_cosine,
    signal_to_noise,
    weights_of_answers,
)

SIZE = 400


def sampled(clean: float, squares: tuple[float, float], tau: float) -> np.ndarray:
    """Cosines of two vectors with noise, 4,000 of them."""
    rng = np.random.default_rng(7)
    u, v = np.zeros((2, SIZE))
    u[0] = math.sqrt(squares[0])
    v[:2] = math.sqrt(squares[1]) * np.array([clean, math.sqrt(1 - clean**2)])
    a, b = (one + tau * rng.standard_normal((4000, SIZE)) for one in (u, v))
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


@pytest.mark.parametrize("clean", [-0.6, 0.0, 0.8])
@pytest.mark.parametrize("tau", [0.01, 0.05, 0.3])
def test_mean_and_deviation_are_those_of_samples(clean: float, tau: float) -> None:
    squares = (0.25, 0.5)
    s = [signal_to_noise(one, tau, SIZE) for one in squares]
    seen, found = seen_cosine(clean, *s, SIZE), sampled(clean, squares, tau)
    error = seen.deviation / math.sqrt(4000)
    assert found.mean() == pytest.approx(seen.mean, abs=5 * error + 2 / SIZE)
    if clean == 0:  # otherwise lengths vary with the cosine
        assert found.std() == pytest.approx(seen.deviation, rel=0.06)
    assert found.std() <= 1.06 * seen.deviation


def test_much_noise_leaves_nothing_and_little_leaves_all() -> None:
    assert seen_cosine(0.9, 0, 0, 100) == (0, 0.1)
    assert seen_cosine(0.9, 0, 0, 100).coefficient == 0.5
    assert seen_cosine(-0.9, 1e9, 1e9, 100).mean == pytest.approx(-0.9)
    assert seen_cosine(1, 1, 1, 100).mean == 0.5


def test_at_the_hiding_sigma_noise_is_as_long_as_the_gradient() -> None:
    sigma = hiding_sigma(length=0.4, clip=2.0, batch=64, size=900)
    assert signal_to_noise(0.16, sigma * 2.0 / 64, 900) == pytest.approx(1)


def test_answers_of_equal_weight_cost_nothing_and_others_do() -> None:
    assert price_in_variance([0.3]) == pytest.approx(1)
    assert price_in_variance([0.2] * 7) == pytest.approx(1)
    assert price_in_variance([1, 0, 0]) == 3
    plain = weights_of_answers(10, 10, 0, 0.0)
    assert plain == pytest.approx([1 / math.sqrt(10)] * 10)
    own, *others = weights_of_answers(9, 3, 2.0, 0.0)
    assert others == pytest.approx([math.sqrt(3) / 9] * 2)
    assert own - others[0] == pytest.approx(2 * (1 / (1 + math.e) + 1) / 3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: signal_to_noise(1, 0, 10),
        lambda: seen_cosine(1.1, 1, 1, 10),
        lambda: seen_cosine(0.5, -1, 1, 10),
        lambda: price_in_variance([0.0]),
    ],
)
def test_what_cannot_be_is_refused(wrong) -> None:
    with pytest.raises(InputError, match=r"must be"):
        wrong()
