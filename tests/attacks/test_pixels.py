"""Pixels and normalised values are turned into each other."""

from __future__ import annotations

import math

import pytest
import torch

from dpdl.attacks.pixels import Pixels, per_channel
from dpdl.errors import InputError

COLOUR = Pixels((0.5, 0.4, 0.3), (0.25, 0.5, 1.0))


def test_there_and_back_is_the_same() -> None:
    unit = torch.rand(2, 3, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(COLOUR.to_unit(COLOUR.from_unit(unit)), unit)


def test_black_and_white_are_the_ends_of_every_channel() -> None:
    assert COLOUR.low.flatten().tolist() == pytest.approx([-2.0, -0.8, -0.3])
    assert COLOUR.high.flatten().tolist() == pytest.approx([2.0, 1.2, 0.7])
    assert COLOUR.low.shape == (3, 1, 1)


def test_values_outside_are_clamped_to_the_nearest_pixels() -> None:
    x = torch.tensor([-9.0, 0.1, 9.0])[:, None, None].expand(3, 2, 2)
    clamped = COLOUR.clamp(x)
    assert clamped[:, 0, 0].tolist() == pytest.approx([-2.0, 0.1, 0.7])
    unit = COLOUR.to_unit(x)
    assert unit.min() == 0 and unit.max() == 1


def test_one_value_may_stand_for_all_channels() -> None:
    mixed = Pixels((0.0,), (0.5, 1.0, 2.0))
    assert mixed.high.flatten().tolist() == [2.0, 1.0, 0.5]
    values = per_channel((0.5,), torch.zeros(3, 2, 2, dtype=torch.float64))
    assert values.shape == (1, 1, 1) and values.dtype == torch.float64


@pytest.mark.parametrize(
    ("mean", "std", "hint"),
    [
        ((0.0,), (0.0,), "greater than 0"),
        ((0.0,), (-1.0,), "greater than 0"),
        ((math.nan,), (1.0,), "finite"),
        ((0.0,), (math.inf,), "finite"),
        ((0.0,), (), "greater than 0"),
        ((0.0, 0.0), (1.0, 1.0, 1.0), "as many means as stds"),
    ],
)
def test_what_is_no_normalisation_is_refused(mean, std, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        Pixels(mean, std)
