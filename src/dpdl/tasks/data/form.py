"""The form of a record, which is public: what it looks like, never what is in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.tasks.targets import Targets

ALLOWED = (torch.uint8, torch.float16, torch.float32, torch.float64)


@final
@dataclass(frozen=True)
class Form:
    """The shape of a record, what is predicted, and how pixels become numbers.

    A shape is `(features,)` or `(channels, height, width)`. The form is chosen before any record is
    read, so that a site with few records, or without some class, builds the same model as all
    others. `mean` and `std` hold one value per channel, or one value for all; they are used for
    pixels only.
    """

    shape: tuple[int, ...]
    targets: Targets
    dtype: torch.dtype = torch.float32  # uint8: pixels from 0 to 255
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if len(self.shape) not in (1, 3) or min(self.shape) < 1:
            raise InputError(
                "The shape of a record must be (features,) or (channels, height, width), each at "
                f"least 1, not {self.shape}."
            )
        if self.dtype not in ALLOWED:
            raise InputError(
                f"Records must be uint8, float16, float32 or float64, not {self.dtype}."
            )
        for name in ("mean", "std"):
            values = getattr(self, name)
            finite = all(math.isfinite(value) for value in values)
            if len(values) not in (1, self.shape[0]) or not finite:
                raise InputError(
                    f"{name} must be 1 or {self.shape[0]} finite numbers: {values}."
                )
        if min(self.std) <= 0:
            raise InputError(f"std must be greater than 0, not {self.std}.")

    def __str__(self) -> str:
        return look(self.shape, self.dtype)

    @property
    def outputs(self) -> int:
        """How many numbers a model returns for a record."""
        return self.targets.count

    def inputs(self, rows: Tensor, dtype: torch.dtype) -> Tensor:
        """What a model sees: `(x/255 - mean)/std` per channel for pixels; others are unchanged.

        `rows` may have any number of leading dimensions, for instance `(agents, batch, C, H, W)`.
        """
        if rows.dtype != torch.uint8:
            return rows.to(dtype)
        scale, shift = (part.to(rows.device, dtype) for part in self._affine)
        return rows.to(dtype).mul_(scale).sub_(shift)

    @cached_property
    def _affine(self) -> tuple[Tensor, Tensor]:
        # (x/255 - mean)/std = scale x - shift: two passes over a batch instead of three.
        per_channel = (-1, *(1,) * (len(self.shape) - 1))
        mean, std = (
            torch.tensor(values, dtype=torch.float64).reshape(per_channel)
            for values in (self.mean, self.std)
        )
        return 1 / (255 * std), mean / std


def look(shape: tuple[int, ...], dtype: torch.dtype) -> str:
    """A record described for people, for instance `(1, 28, 28) uint8`."""
    return f"{tuple(shape)} {str(dtype).removeprefix('torch.')}"
