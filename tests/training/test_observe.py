"""What is measured: scores of models on test records, and statistics of what agents report."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from dpdl.planning.site import EvaluationRecords
from dpdl.tasks.data.form import Form
from dpdl.tasks.scores import ACCURACY, Score
from dpdl.tasks.targets import Classes
from dpdl.tasks.task import Task
from dpdl.training.observe import (
    TEST_CHUNK,
    Examiner,
    agent_scores,
    consensus_distance,
    summed_up,
)


class Counting:
    """A score that counts how many records it was asked about."""

    def __init__(self) -> None:
        self.records = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.records += len(outputs)
        return outputs.argmax(1) == targets


def linear(score: Score = ACCURACY) -> Task:
    return Task(nn.Linear(2, 2, bias=False), score=score)


def records(count: int, label: int) -> EvaluationRecords:
    draw = torch.Generator().manual_seed(label)
    x = torch.rand(count, 2, generator=draw) + 0.1
    return EvaluationRecords(x, torch.full((count,), label))


FORM = Form((2,), Classes(2))
ZERO, ONE = torch.tensor([1.0, 1, -1, -1]), torch.tensor([-1.0, -1, 1, 1])
"""Models that always say class 0, or class 1."""


def test_a_model_is_tested_on_the_records_of_its_agent() -> None:
    tests = {3: records(5, 0), 7: records(9, 1)}
    examiner = Examiner(linear(), FORM, tests, common=False)
    rows = torch.stack([ZERO, ONE, ZERO, ONE])
    assert examiner.scores(rows, [3, 3, 7, 7]).tolist() == [1, 0, 0, 1]
    assert examiner.agents == [3, 7]
    assert examiner.scores(rows[:1], [0]).tolist() == [1]  # of agent 3, the first here
    assert examiner.score(ONE) == 0


def test_the_score_is_the_mean_over_all_pieces() -> None:
    count = 2 * TEST_CHUNK + 7
    y = (torch.arange(count) < 100).long()
    x = torch.rand(count, 2) + 0.1
    examiner = Examiner(linear(), FORM, {0: EvaluationRecords(x, y)}, common=True)
    assert examiner.score(ONE) == pytest.approx(100 / count)


def test_equal_models_are_tested_once_on_the_same_records() -> None:
    counting = Counting()
    common = records(20, 1)
    task = linear(Score("right", counting))
    examiner = Examiner(task, FORM, dict.fromkeys(range(4), common), common=True)
    rows = torch.stack([ONE, ONE, ONE, ZERO])
    assert examiner.scores(rows, range(4)).tolist() == [1, 1, 1, 0]
    assert counting.records == 40
    counting.records = 0
    own = {agent: records(20, agent % 2) for agent in range(4)}
    examiner = Examiner(task, FORM, own, common=False)
    assert examiner.scores(torch.stack([ONE] * 4), range(4)).tolist() == [0, 1, 0, 1]
    assert counting.records == 80


def test_the_worst_agent_is_the_one_with_the_highest_error() -> None:
    values = torch.tensor([0.2, 0.9, 0.4], dtype=torch.float64)
    up = agent_scores(ACCURACY, values, 0.6)
    down = agent_scores(Score("error", ACCURACY.of_records, True), values, 0.6)
    assert (up.worst, up.best, up.mean) == (0.2, 0.9, pytest.approx(0.5))
    assert (down.worst, down.best, down.average_model) == (0.9, 0.2, 0.6)


def test_every_agent_has_its_score_in_five_digits() -> None:
    values = torch.tensor([1 / 3, 0.9, 123456.7], dtype=torch.float64)
    found = agent_scores(ACCURACY, values, 0.6)
    assert found.agents == (0.33333, 0.9, 123460.0)
    assert found.worst == 1 / 3, "statistics are not rounded"


def test_what_is_not_a_number_is_left_out_of_a_mean() -> None:
    nan = math.nan
    values = {
        "train_loss": torch.tensor([1.0, nan, 3.0]),
        "cosine": torch.tensor([nan, nan, nan]),
        "clip_fraction": torch.tensor([0.0, 0.5, 1.0]),
        "broken_gradients": torch.tensor([1, 0, 0]),
    }
    found = summed_up(values)
    assert (found.train_loss.mean, found.train_loss.min, found.train_loss.max) == (
        2,
        1,
        3,
    )
    assert found.diagnostics == {"cosine": None, "clip_fraction": 0.5}
    assert summed_up({}).train_loss.mean is None


def test_the_distance_of_models_from_their_average() -> None:
    assert consensus_distance(torch.ones(3, 4)) == 0
    assert consensus_distance(torch.tensor([[0.0, 0.0], [6.0, 8.0]])) == 5
