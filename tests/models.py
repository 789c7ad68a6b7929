"""Models whose gradients somebody else computes, to count them or to know them."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from dpdl.privacy.clipping import per_sample
from dpdl.tasks.task import Task
from dpdl.types import Batch, ClippedSum

Gradient = Callable[[Tensor, Batch, float], ClippedSum]


class Given:
    """A model of some parameter tensors with a given clipped gradient."""

    def __init__(self, sizes: tuple[int, ...], gradient: Gradient) -> None:
        self.sizes = sizes
        self.clipped = gradient

    @property
    def fused(self) -> Given:
        return self


class Counting:
    """A task that counts the gradients that are asked of it."""

    def __init__(
        self, task: Task, seen: Callable[[Tensor], None] = lambda g: None
    ) -> None:
        self.calls = 0
        self.sizes = task.sizes
        self._task, self._seen = task, seen

    @property
    def fused(self) -> Counting:
        return self

    def clipped(self, row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        self.calls += 1
        found = per_sample(self._task, row, batch, clip_norm, 1)
        self._seen(found.gradient)
        return ClippedSum(found.gradient, found.loss, found.clipped, found.broken)
