"""The targets of records: classes, labels or numbers. Their kind and count are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from dpdl.errors import InputError


@final
@dataclass(frozen=True)
class Classes:
    """One of `count` classes, as a whole number from 0."""

    count: int
    loss: ClassVar[str] = "cross-entropy"
    score: ClassVar[str] = "accuracy"

    def __str__(self) -> str:
        return f"{self.count} classes"

    def check(self, name: str, y: Tensor) -> None:
        """Refuse a tensor that does not hold such targets; `name` says in errors which it is."""
        if y.dtype != torch.int64 or y.ndim != 1:
            found = f"{y.dtype} {tuple(y.shape)}"
            raise InputError(
                f"{name} must be an int64 tensor of shape (n,), not {found}."
            )
        low, high = int(y.min()), int(y.max())
        if low < 0 or high >= self.count:
            raise InputError(
                f"{name} has labels {low} to {high}, allowed are 0 to {self.count - 1}."
            )

    def values(self, y: Tensor, dtype: torch.dtype) -> Tensor:
        """Targets as losses and scores take them."""
        return y

    def blank(self, records: int) -> Tensor:
        """Valid targets for so many records that stand in for real ones."""
        return torch.zeros(records, dtype=torch.int64)


@final
@dataclass(frozen=True)
class Labels:
    """`count` labels, each of which a record has or has not: rows of 0 and 1."""

    count: int
    loss: ClassVar[str] = "binary-cross-entropy"
    score: ClassVar[str] = "label-accuracy"

    def __str__(self) -> str:
        return f"{self.count} labels"

    def check(self, name: str, y: Tensor) -> None:
        """Refuse a tensor that does not hold such targets; `name` says in errors which it is."""
        _check_rows(name, y, self.count)
        if not bool(((y == 0) | (y == 1)).all()):
            raise InputError(
                f"{name} must hold 0 and 1 only: a record has a label or not."
            )

    def values(self, y: Tensor, dtype: torch.dtype) -> Tensor:
        """Targets as losses and scores take them."""
        return y.to(dtype)

    def blank(self, records: int) -> Tensor:
        """Valid targets for so many records that stand in for real ones."""
        return torch.zeros(records, self.count)


@final
@dataclass(frozen=True)
class Numbers:
    """`count` numbers to predict."""

    count: int
    loss: ClassVar[str] = "squared-error"
    score: ClassVar[str] = "squared-error"

    def __str__(self) -> str:
        return f"{self.count} numbers"

    def check(self, name: str, y: Tensor) -> None:
        """Refuse a tensor that does not hold such targets; `name` says in errors which it is."""
        _check_rows(name, y, self.count)
        if not bool(y.isfinite().all()):
            raise InputError(
                f"{name} holds NaN or infinite values, all must be finite."
            )

    def values(self, y: Tensor, dtype: torch.dtype) -> Tensor:
        """Targets as losses and scores take them."""
        return y.to(dtype)

    def blank(self, records: int) -> Tensor:
        """Valid targets for so many records that stand in for real ones."""
        return torch.zeros(records, self.count)


Targets = Classes | Labels | Numbers
KINDS: dict[str, type[Targets]] = {
    "classes": Classes,
    "labels": Labels,
    "numbers": Numbers,
}


@final
@dataclass(frozen=True)
class Predicted:
    """The kind of the targets, and how many if that is known before any record is read."""

    kind: type[Targets]
    count: int | None  # None: the records decide

    def of(self, count: int) -> Targets:
        """The targets: `count` of them, unless another count was given before."""
        return self.kind(count if self.count is None else self.count)

    def __str__(self) -> str:
        kind = next(name for name, kind in KINDS.items() if kind is self.kind)
        return kind if self.count is None else f"{self.count} {kind}"


CLASSES = Predicted(Classes, None)
MOST_DIGITS = 5
"""Digits that a count may have."""


def predicted(text: str | None) -> Predicted:
    """The meaning of `classes`, `labels` or `numbers`, perhaps with a count, as in `3 classes`.

    None means classes.
    """
    if text is None:
        return CLASSES
    count, space, kind = text.rpartition(" ")
    counted = count.isascii() and count.isdigit() and len(count) <= MOST_DIGITS
    valid = counted and int(count) >= 1 if space else True
    if kind not in KINDS or not valid:
        raise InputError(
            f"predict must be classes, labels or numbers, or how many of them, such as "
            f"'3 classes', not {text!r}."
        )
    return Predicted(KINDS[kind], int(count) if space else None)


def _check_rows(name: str, y: Tensor, count: int) -> None:
    if y.dtype != torch.float32 or y.ndim != 2 or y.shape[1] != count:
        found = f"{y.dtype} {tuple(y.shape)}"
        raise InputError(
            f"{name} must be a float32 tensor of shape (n, {count}), not {found}."
        )
