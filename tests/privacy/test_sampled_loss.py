"""All points of the grid at once are what dp-accounting finds point by point."""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.privacy.sampled_loss import sampled_gaussian

sigmas = st.floats(0.3, 50)
rates = st.floats(1e-5, 0.999)


@pytest.mark.parametrize("grid", [1e-2, 1e-3])
@given(sigma=sigmas, rate=rates)
@settings(max_examples=25, deadline=None)
def test_masses_are_those_of_the_library(
    grid: float, sigma: float, rate: float
) -> None:
    ours = sampled_gaussian(sigma, rate, grid)
    theirs = from_gaussian_mechanism(
        sigma, value_discretization_interval=grid, sampling_prob=rate
    )
    for mine, given_ in zip(parts(ours), parts(theirs), strict=True):
        assert mine._lower_loss == given_._lower_loss
        assert mine._infinity_mass == pytest.approx(given_._infinity_mass, rel=1e-9)
        # A mass is a difference of doubles over the grid; libraries may differ in the last bit.
        off = np.abs(np.subtract(mine._probs, given_._probs)).max()
        assert off < 1e-14 / grid


def parts(distribution: object) -> list:
    """The masses for a record removed, and for one added."""
    found = [distribution._pmf_remove, distribution._pmf_add]
    return [one.to_dense_pmf() for one in found]


@pytest.mark.parametrize("rate", [0.5, 0.75, 0.1])
@given(sigma=sigmas)
@settings(max_examples=10, deadline=None)
def test_what_one_round_gives_away_is_the_divergence_of_the_two_mixtures(
    rate: float, sigma: float
) -> None:
    """Integrated by hand on the real line, which knows nothing of losses."""
    found = sampled_gaussian(sigma, rate, 1e-3).get_delta_for_epsilon(0.2)
    x = np.linspace(-1 - 12 * sigma, 12 * sigma, 200_001)
    density = np.exp(-0.5 * np.square([x, x + 1]) / sigma**2) / (2.5066282746 * sigma)
    without, present = density[0], (1 - rate) * density[0] + rate * density[1]
    step = x[1] - x[0]
    deltas = [
        np.clip(p - np.exp(0.2) * q, 0, None).sum() * step
        for p, q in ((present, without), (without, present))
    ]
    assert max(deltas) - 1e-7 <= found <= max(deltas) + 1e-5
