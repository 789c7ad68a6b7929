"""What is measured while training; `dpdl.run.view` says who may know which part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dpdl.errors import PrivacyRefused
from dpdl.net import Leaving
from dpdl.parallel import each
from dpdl.privacy.releases import Release
from dpdl.rows import first_equal
from dpdl.tasks.data import Dataset
from dpdl.tasks.task import Task

TEST_CHUNK = 250


class Meter:
    """Counts, at the exit, the bytes that leave every agent."""

    def __init__(self, agents: int) -> None:
        self.bytes = torch.zeros(agents, dtype=torch.int64)

    def __call__(self, leaving: Leaving) -> None:
        """Observe one exchange."""
        messages = torch.bincount(leaving.edges[:, 0], minlength=len(self.bytes))
        self.bytes += messages * (leaving.bytes // max(1, len(leaving.edges)))


class Gate:
    """Lets only declared channels through: what was not declared was not accounted for."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self._channels = {release.channel for release in releases}

    def __call__(self, leaving: Leaving) -> None:
        """Stop a message before it leaves."""
        if leaving.channel not in self._channels:
            raise PrivacyRefused(
                f"The algorithm tried to send on channel {leaving.channel!r}, which it has not declared; "
                f"declared: {', '.join(sorted(self._channels))}."
            )


class Examiner:
    """Tests models on the test set, equal ones once."""

    def __init__(self, task: Task, data: Dataset) -> None:
        self._task = task
        self._x = data.inputs(data.x_test, task.initial.dtype).split(TEST_CHUNK)
        self._y = data.y_test.split(TEST_CHUNK)
        self._records = len(data.y_test)

    def accuracy(self, rows: Tensor) -> Tensor:
        """Share of test records every row's model gets right: (rows,) float64."""
        first = first_equal(rows)
        pieces = [(k, part) for k in sorted(set(first)) for part in range(len(self._y))]

        def correct(piece: tuple[int, int]) -> int:
            k, part = piece
            guesses = self._task.outputs(rows[k].clone(), self._x[part]).argmax(1)
            return int((guesses == self._y[part]).sum())

        counts = dict.fromkeys(first, 0)
        for (k, _), right in zip(pieces, each(correct, pieces), strict=True):
            counts[k] += right
        return torch.tensor([counts[k] / self._records for k in first], dtype=torch.float64)


def described(models: Tensor, accuracy: Tensor, average: float, values: Mapping[str, Tensor]) -> dict[str, Any]:
    """The metrics of one round from all models, their accuracy, that of their average, and what agents said of it.

    What no agent may say is None, or left out when it is not in every algorithm.
    """
    said = dict(values)
    loss = said.pop("train_loss", accuracy.new_zeros(0))
    return {
        "train_loss": {
            name: _finite(loss, of) for name, of in (("mean", torch.mean), ("min", torch.min), ("max", torch.max))
        },
        "accuracy": {
            "mean": float(accuracy.mean()),
            "worst": float(accuracy.min()),
            "best": float(accuracy.max()),
            "average_model": average,
        },
        "consensus_distance": consensus_distance(models),
        **{name: _finite(value, torch.mean) for name, value in said.items()},
    }


def consensus_distance(models: Tensor) -> float:
    """Root mean square distance of the agents' models from their average."""
    models = models.double()
    return math.sqrt(float((models - models.mean(dim=0)).square().sum(dim=1).mean()))


def _finite(values: Tensor, of: Callable[[Tensor], Tensor]) -> float | None:
    """A statistic over the agents that have a finite value; None when there is no such agent."""
    values = values[values.isfinite()]
    return float(of(values)) if len(values) else None
