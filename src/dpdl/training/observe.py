"""What is measured while training; `dpdl.training.instruments` says who may know which part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dpdl.parallel import each
from dpdl.planning.site import TestRecords
from dpdl.rows import first_equal
from dpdl.tasks.data.form import Form
from dpdl.tasks.task import Task

TEST_CHUNK = 250


class Examiner:
    """Tests models on the test set, equal ones once."""

    def __init__(self, task: Task, form: Form, test: TestRecords) -> None:
        self._task = task
        self._x = form.inputs(test.x, task.initial.dtype).split(TEST_CHUNK)
        self._y = form.targets.values(test.y, task.initial.dtype).split(TEST_CHUNK)
        self._records = len(test.y)

    def scores(self, rows: Tensor) -> Tensor:
        """The score of every row's model on the test records: (rows,) float64."""
        first = first_equal(rows)
        pieces = [(k, part) for k in sorted(set(first)) for part in range(len(self._y))]

        def total(piece: tuple[int, int]) -> float:
            k, part = piece
            outputs = self._task.outputs(rows[k].clone(), self._x[part])
            return self._task.score.total(outputs, self._y[part])

        totals = dict.fromkeys(first, 0.0)
        for (k, _), found in zip(pieces, each(total, pieces), strict=True):
            totals[k] += found
        means = [totals[k] / self._records for k in first]
        return torch.tensor(means, dtype=torch.float64)


def described(
    models: Tensor, accuracy: Tensor, average: float, values: Mapping[str, Tensor]
) -> dict[str, Any]:
    """The metrics of one round from all models, their accuracy, that of their average, and what agents said of it.

    What no agent may say is None, or left out when it is not in every algorithm.
    """
    said = dict(values)
    loss = said.pop("train_loss", accuracy.new_zeros(0))
    return {
        "train_loss": {
            name: _finite(loss, of)
            for name, of in (
                ("mean", torch.mean),
                ("min", torch.min),
                ("max", torch.max),
            )
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
