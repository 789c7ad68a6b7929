"""What is measured while training; `dpdl.training.instruments` says who may know which part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dpdl.folder.metrics import AgentLosses
from dpdl.folder.scored import AgentScores
from dpdl.parallel import each
from dpdl.planning.site import TestRecords
from dpdl.rows import first_equal
from dpdl.tasks.data.form import Form
from dpdl.tasks.scores import Score
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


class Reports(NamedTuple):
    """What the agents report of a round, summed up."""

    train_loss: AgentLosses
    diagnostics: dict[str, float | None]  # of the algorithm, by name


def summed_up(values: Mapping[str, Tensor]) -> Reports:
    """Statistics of what agents report, one value per agent.

    What nobody may know is None, or left out when it is not in every algorithm.
    """
    rest = dict(values)
    rest.pop("broken_gradients", None)  # they are counted over all rounds
    loss = rest.pop("train_loss", torch.zeros(0))
    losses = AgentLosses(
        *(_finite(loss, of) for of in (torch.mean, torch.min, torch.max))
    )
    means = {name: _finite(value, torch.mean) for name, value in rest.items()}
    return Reports(losses, means)


def agent_scores(score: Score, values: Tensor, average: float) -> AgentScores:
    """Statistics of the scores of all agents; `average` is that of their average model."""
    lowest, highest = float(values.min()), float(values.max())
    ends = (highest, lowest) if score.lower_is_better else (lowest, highest)
    return AgentScores(score.name, float(values.mean()), *ends, average)


def consensus_distance(models: Tensor) -> float:
    """Root mean square distance of the agents' models from their average."""
    models = models.double()
    return math.sqrt(float((models - models.mean(dim=0)).square().sum(dim=1).mean()))


def _finite(values: Tensor, of: Callable[[Tensor], Tensor]) -> float | None:
    """A statistic over the agents that have a finite value; None when there is no such agent."""
    values = values[values.isfinite()]
    return float(of(values)) if len(values) else None
