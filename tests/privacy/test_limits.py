"""Where claims end."""

from __future__ import annotations

import math

import pytest

from dpdl.privacy.grid import BEYOND, excess
from dpdl.privacy.limits import DELTA, SMALLEST_DELTA


@pytest.mark.parametrize("delta", [SMALLEST_DELTA, 1e-5, 0.5, math.nextafter(1, 0)])
def test_a_delta_in_between_is_allowed(delta: float) -> None:
    assert DELTA.holds(delta)


@pytest.mark.parametrize("delta", [0.0, 9e-31, 1.0, 2.0, -1e-5, math.nan, math.inf])
def test_another_is_not(delta: float) -> None:
    assert not DELTA.holds(delta)


def test_what_secure_noise_neglects_is_much_smaller_than_the_smallest_delta() -> None:
    assert BEYOND < 1e-20 * SMALLEST_DELTA
    assert 1e-8 * SMALLEST_DELTA > 2.0**-128  # what a cipher is trusted to
    assert excess(1e9, 1.0, SMALLEST_DELTA) < 1e-3
