"""Labels are read off the gradient of the last bias."""

from __future__ import annotations

import pytest
import torch

from dpdl.attacks.labels import rate, recovered
from dpdl.tasks.models import lenet
from dpdl.tasks.task import Task
from tests.attacks.images import SHAPE, problem_of, strokes


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_labels_are_recovered() -> None:
    task = Task(lenet(SHAPE, 10))
    single = torch.tensor([[3], [7], [1]])
    assert torch.equal(
        recovered(problem_of(task, strokes(3)[:, None], single), 1, 0), single
    )
    four = torch.tensor([[3, 3, 5, 9]])
    found = recovered(problem_of(task, strokes(4)[None], four), 4, 0)
    assert rate(found, four) >= 0.75
    assert rate(torch.tensor([[1, 1, 2]]), torch.tensor([[2, 3, 1]])) == pytest.approx(
        2 / 3
    )
