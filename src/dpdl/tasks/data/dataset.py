"""A data set in memory: training and test records, their labels, and how pixels become numbers."""

from __future__ import annotations

import hashlib
import math
import reprlib
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from dpdl.errors import InputError

ALLOWED = (torch.uint8, torch.float16, torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records `x` of shape `(n, C, H, W)` or `(n, features)`, with labels `y` in `0..classes-1`.

    Pixels stay `uint8` in memory (a quarter of float32) and become numbers batch by batch, in `inputs`.
    `mean` and `std` hold one value per channel, or one value for all. A data set with different lengths,
    labels out of range, no records, or NaN does not construct.
    """

    name: str
    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __repr__(self) -> str:
        return f"Dataset({reprlib.repr(self.name)}, {self.classes} classes, a record is {_look(self.x)})"

    def __post_init__(self) -> None:
        for x_name, y_name in (("x", "y"), ("x_test", "y_test")):
            x, y = getattr(self, x_name), getattr(self, y_name)
            _check_records(self.name, x_name, x)
            _check_labels(self.name, y_name, y, len(x), self.classes)
        if self.x.shape[1:] != self.x_test.shape[1:] or self.x.dtype != self.x_test.dtype:
            raise InputError(
                f"Data set {self.name}: x_test must look like x, a record is {_look(self.x)} in x and "
                f"{_look(self.x_test)} in x_test."
            )
        self._check_normalisation()

    def _check_normalisation(self) -> None:
        for field in ("mean", "std"):
            values = getattr(self, field)
            if len(values) not in (1, self.x.shape[1]) or not all(math.isfinite(v) for v in values):
                raise InputError(
                    f"Data set {self.name}: {field} must be 1 or {self.x.shape[1]} finite numbers: {values}."
                )
        if min(self.std) <= 0:
            raise InputError(f"Data set {self.name}: std must be greater than 0, not {self.std}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one record."""
        return tuple(self.x.shape[1:])

    def inputs(self, x_rows: Tensor, dtype: torch.dtype) -> Tensor:
        """What a model sees: `(x/255 - mean)/std` per channel for `uint8` rows; floating rows are unchanged.

        `x_rows` may have any number of leading dimensions, for instance `(agents, batch, C, H, W)`.
        """
        if x_rows.dtype != torch.uint8:
            return x_rows.to(dtype)
        scale, shift = self._affine
        return x_rows.to(dtype).mul_(scale.to(x_rows.device, dtype)).sub_(shift.to(x_rows.device, dtype))

    @cached_property
    def _affine(self) -> tuple[Tensor, Tensor]:
        # (x/255 - mean)/std = scale x - shift: two passes over a batch instead of three.
        per_channel = (-1, *(1,) * (len(self.shape) - 1))
        mean, std = (torch.tensor(v, dtype=torch.float64).reshape(per_channel) for v in (self.mean, self.std))
        return 1 / (255 * std), mean / std

    def fingerprint(self) -> str:
        """SHA-256 over dtype, shape and bytes of all four arrays: equal exactly when the data are equal."""
        total = hashlib.sha256()
        for name in ("x", "y", "x_test", "y_test"):
            array = getattr(self, name).detach().cpu().contiguous().numpy()
            total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            total.update(memoryview(array.reshape(-1)).cast("B"))
        return total.hexdigest()


def _look(x: Tensor) -> str:
    return f"{tuple(x.shape[1:])} {str(x.dtype).removeprefix('torch.')}"


def _check_records(name: str, field: str, x: Tensor) -> None:
    if not isinstance(x, Tensor) or x.dtype not in ALLOWED:
        given = str(x.dtype) if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"Data set {name}: {field} must be a uint8, float16, float32 or float64 tensor, not {given}.")
    if x.ndim not in (2, 4) or x.numel() == 0:
        raise InputError(
            f"Data set {name}: {field} must be (n, C, H, W) or (n, features) with at least one record, "
            f"not {tuple(x.shape)}."
        )
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        raise InputError(f"Data set {name}: {field} holds NaN or infinite values, all must be finite.")


def _check_labels(name: str, field: str, y: Tensor, records: int, classes: int) -> None:
    if not isinstance(y, Tensor) or y.dtype != torch.int64 or y.ndim != 1:
        given = f"{y.dtype} {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise InputError(f"Data set {name}: {field} must be an int64 tensor of shape (n,), not {given}.")
    if len(y) != records:
        raise InputError(f"Data set {name}: {field} has {len(y)} labels for {records} records, each record needs one.")
    low, high = int(y.min()), int(y.max())
    if low < 0 or high >= classes:
        raise InputError(f"Data set {name}: {field} has labels {low} to {high}, allowed are 0 to {classes - 1}.")
