"""How pixels become the numbers that a model sees: public, and all that is known of images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from dpdl.errors import InputError


@final
@dataclass(frozen=True)
class Pixels:
    """The normalisation of a data set: `mean` and `std` with one value per channel, or one for all.

    Pixels that a model sees as they are, in [0, 1], have mean 0 and std 1.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if (
            not all(map(math.isfinite, (*self.mean, *self.std)))
            or min(self.std, default=0.0) <= 0
        ):
            raise InputError(
                f"Pixels need finite means and stds greater than 0: {self.mean} and "
                f"{self.std}."
            )
        if len(self.mean) != len(self.std) and 1 not in (len(self.mean), len(self.std)):
            raise InputError(
                f"Pixels need as many means as stds, or one for all: {self.mean} and "
                f"{self.std}."
            )

    @cached_property
    def low(self) -> Tensor:
        """The normalised value of pixel 0: float64, `(C, 1, 1)` or `(1, 1, 1)`."""
        return self.from_unit(torch.zeros(1, 1, 1, dtype=torch.float64))

    @cached_property
    def high(self) -> Tensor:
        """The normalised value of pixel 1, in the shape of `low`."""
        return self.from_unit(torch.ones(1, 1, 1, dtype=torch.float64))

    def clamp(self, x: Tensor) -> Tensor:
        """The nearest normalised images whose pixels are in [0, 1]."""
        return torch.maximum(torch.minimum(x, self.high.to(x)), self.low.to(x))

    def to_unit(self, x: Tensor) -> Tensor:
        """Normalised images to pixels, clamped to [0, 1]."""
        return (x * per_channel(self.std, x) + per_channel(self.mean, x)).clamp(0, 1)

    def from_unit(self, x: Tensor) -> Tensor:
        """Pixels to normalised images."""
        return (x - per_channel(self.mean, x)) / per_channel(self.std, x)


def per_channel(values: tuple[float, ...], like: Tensor) -> Tensor:
    """One value for every channel, or for all, in a shape that fits images."""
    return torch.tensor(values, dtype=like.dtype, device=like.device).reshape(-1, 1, 1)
