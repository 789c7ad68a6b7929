from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.func import vmap

from dpdl.errors import InputError
from dpdl.tasks.task import Task
from tests.conftest import small_batch, small_module


def test_rows_and_modules_are_the_same_model() -> None:
    module = small_module()
    task = Task(module, dtype=torch.float64)
    batch = small_batch(5, 0)
    assert torch.equal(task.outputs(task.initial, batch.x), module(batch.x))
    row = torch.randn_like(task.initial)
    assert torch.equal(task.module(row)(batch.x), task.outputs(row, batch.x))
    assert torch.equal(
        nn.utils.parameters_to_vector(task.module(row).parameters()), row
    )


def test_frozen_parameters_stay_out_of_the_row() -> None:
    module = small_module()
    for p in module[0].parameters():
        p.requires_grad_(False)
    task = Task(module, dtype=torch.float64)
    assert task.sizes == (54, 3)
    assert torch.equal(
        task.outputs(task.initial, small_batch(3, 0).x), module(small_batch(3, 0).x)
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(
                nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 3)
            ),
            "GroupNorm",
        ),
        (
            nn.Sequential(
                nn.Flatten(), nn.Linear(25, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)
            ),
            "BatchNorm1d",
        ),
        (
            nn.Sequential(
                nn.InstanceNorm2d(1, track_running_stats=True),
                nn.Flatten(),
                nn.Linear(25, 3),
            ),
            "running",
        ),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(25, 3), nn.AlphaDropout()),
            "only nn.Dropout",
        ),
        (nn.Flatten(), "no trainable parameters"),
    ],
)
def test_modules_that_break_privacy_do_not_construct(
    module: nn.Module, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Task(module)


class Branches(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.flatten(1)) * (1 if x.sum() > 0 else 2)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(nn.Flatten(), nn.Linear(25, 4)),
            r"3 outputs per sample.*\(2, 4\)",
        ),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(7, 3)),
            r"does not accept inputs of shape \(1, 5, 5\)",
        ),
        (Branches(25, 3), "sample by sample"),
    ],
)
def test_check_says_what_is_wrong_with_a_model(module: nn.Module, words: str) -> None:
    batch = small_batch(2, 0)
    with pytest.raises(InputError, match=words):
        Task(module, dtype=torch.float64).check(batch.x, batch.y, 3)


def test_group_norm_is_welcome() -> None:
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(36, 3)
    )
    batch = small_batch(2, 0)
    Task(module, dtype=torch.float64).check(batch.x, batch.y, 3)
    assert Task(module).size == 36 + 4 + 4 + 4 + 108 + 3


def test_threads_do_not_disturb_each_other() -> None:
    task = Task(small_module(), dtype=torch.float64)
    batch = small_batch(6, 1)
    rows = [task.initial * (1 + k / 10) for k in range(8)]
    loss = vmap(task.loss, (None, 0, 0, 0))
    expected = [loss(task.parameters(row), *batch) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda k: loss(task.parameters(rows[k % 8]), *batch), range(200))
        )
    assert all(torch.equal(value, expected[k % 8]) for k, value in enumerate(found))
