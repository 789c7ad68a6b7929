"""A data set in memory: training and test records, and the target of each."""

from __future__ import annotations

import hashlib
import reprlib
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.tasks.data.form import ALLOWED, Form, look
from dpdl.tasks.targets import Classes, Targets


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records `x` of shape `(n, C, H, W)` or `(n, features)`, with a target `y` each.

    Targets are classes, `y` in `0..classes-1`, unless `predicts` says otherwise: several labels or
    numbers. Pixels stay `uint8` in memory (a quarter of float32) and become numbers batch by batch,
    in `inputs`. `mean` and `std` hold one value per channel, or one value for all. A data set with
    different lengths, targets out of range, no records, or NaN does not construct.
    """

    name: str
    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: int = 0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    predicts: Targets | None = None  # None: one of `classes` classes

    def __repr__(self) -> str:
        return f"Dataset({reprlib.repr(self.name)}, {self.targets}, a record is {_look(self.x)})"

    def __post_init__(self) -> None:
        for x_name, y_name in (("x", "y"), ("x_test", "y_test")):
            x, y = getattr(self, x_name), getattr(self, y_name)
            _check_records(self.name, x_name, x)
            _check_targets(self.name, y_name, y, len(x), self.targets)
        if (
            self.x.shape[1:] != self.x_test.shape[1:]
            or self.x.dtype != self.x_test.dtype
        ):
            raise InputError(
                f"Data set {self.name}: x_test must look like x, a record is {_look(self.x)} in x "
                f"and {_look(self.x_test)} in x_test."
            )
        try:
            _ = self.form
        except InputError as failure:
            raise InputError(f"Data set {self.name}: {failure}") from None

    @property
    def targets(self) -> Targets:
        """What is predicted."""
        return self.predicts or Classes(self.classes)

    @cached_property
    def form(self) -> Form:
        """What everybody may know about the records."""
        return Form(self.shape, self.targets, self.x.dtype, self.mean, self.std)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one record."""
        return tuple(self.x.shape[1:])

    def inputs(self, x_rows: Tensor, dtype: torch.dtype) -> Tensor:
        """What a model sees; see `Form.inputs`."""
        return self.form.inputs(x_rows, dtype)

    def fingerprint(self) -> str:
        """SHA-256 over type, shape and bytes of all four arrays: equal for equal data only."""
        total = hashlib.sha256()
        for name in ("x", "y", "x_test", "y_test"):
            array = getattr(self, name).detach().cpu().contiguous().numpy()
            total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            total.update(memoryview(array.reshape(-1)).cast("B"))
        return total.hexdigest()


def _look(x: Tensor) -> str:
    return look(tuple(x.shape[1:]), x.dtype)


def _check_records(name: str, field: str, x: Tensor) -> None:
    if not isinstance(x, Tensor) or x.dtype not in ALLOWED:
        given = str(x.dtype) if isinstance(x, Tensor) else type(x).__name__
        raise InputError(
            f"Data set {name}: {field} must be a uint8, float16, float32 or float64 tensor, not "
            f"{given}."
        )
    if x.ndim not in (2, 4) or x.numel() == 0:
        raise InputError(
            f"Data set {name}: {field} must be (n, C, H, W) or (n, features) with at least one "
            f"record, not {tuple(x.shape)}."
        )
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        raise InputError(
            f"Data set {name}: {field} holds NaN or infinite values, all must be finite."
        )


def _check_targets(
    name: str, field: str, y: Tensor, records: int, targets: Targets
) -> None:
    if not isinstance(y, Tensor):
        raise InputError(
            f"Data set {name}: {field} must be a tensor, not {type(y).__name__}."
        )
    if y.ndim and len(y) != records:
        raise InputError(
            f"Data set {name}: {field} has {len(y)} labels for {records} records, each record "
            "needs one."
        )
    targets.check(f"Data set {name}: {field}", y)
