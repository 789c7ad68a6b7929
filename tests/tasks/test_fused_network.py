"""Which networks the kernels know, and how they describe them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dpdl.tasks.dropout import KeyedDropout, key_dropout
from dpdl.tasks.fused.network import understand
from dpdl.tasks.models import cnn, lenet, mlp, scatter_cnn
from dpdl.tasks.task import Task


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linear(x)


def frozen() -> nn.Module:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 4), nn.Linear(4, 3))
    module[1].weight.requires_grad_(False)
    return module


def twice() -> nn.Module:
    shared = nn.Linear(4, 4)
    return nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared, nn.Linear(4, 3))


UNKNOWN = {
    "own module": lambda: nn.Sequential(nn.Flatten(), Residual(), nn.Linear(4, 3)),
    "another activation": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)
    ),
    "norm after ReLU": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 1),
        nn.ReLU(),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
        nn.Linear(16, 3),
    ),
    "dilation": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1, dilation=2), nn.Flatten(), nn.Linear(8, 3)
    ),
    "padding by name": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1, padding="same"), nn.Flatten(), nn.Linear(8, 3)
    ),
    "overlapping pool": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.MaxPool2d(2, stride=1), nn.Flatten(), nn.Linear(2, 3)
    ),
    "average pool": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(2, 3)
    ),
    "ReLU at the end": lambda: nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU()),
    "no flatten": lambda: nn.Sequential(nn.Linear(2, 3)),
    "frozen weights": frozen,
    "shared weights": twice,
}


@pytest.mark.parametrize("make", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_the_kernels_do_not_know_takes_the_plain_path(make) -> None:
    task = Task(make())
    task.hasten((1, 2, 2))
    assert task.fused is None
