from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch.func import vmap

from dpdl.errors import InputError
from dpdl.tasks import models
from dpdl.tasks.dropout import KeyedDropout
from dpdl.tasks.task import Task
from tests.conftest import small_batch, small_module


@pytest.mark.parametrize(
    ("name", "shape", "size"),
    [
        ("lenet", (1, 28, 28), 44_426),
        ("cnn", (3, 32, 32), 1_059_306),
        ("mlp", (1, 8, 8), 4_810),
    ],
)
def test_named_models_have_the_published_size(
    name: str, shape: tuple[int, ...], size: int
) -> None:
    task = Task(models.build(name, shape, 10, seed=0))
    assert task.size == size == sum(task.sizes)
    task.check(torch.randn(2, *shape), torch.tensor([0, 9]), 10)


def test_a_seed_decides_the_initial_model_and_leaves_global_randomness_alone() -> None:
    torch.manual_seed(1)
    first = Task(models.build("mlp", (4,), 2, seed=3)).initial
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))
    assert torch.equal(first, Task(models.build("mlp", (4,), 2, seed=3)).initial)
    assert not torch.equal(first, Task(models.build("mlp", (4,), 2, seed=4)).initial)


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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lenett", "Did you mean 'lenet'"),
        ("nowhere:Model", "nowhere"),
        ("collections:OrderedDict", "torch.nn.Module"),
        ("torch.nn:Linear", "cannot be built without arguments"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_in_one_sentence(
    name: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as error:
        models.build(name, (1, 28, 28), 10, seed=0)
    assert "\n" not in str(error.value)


def test_images_too_small_for_lenet_are_refused_with_advice() -> None:
    with pytest.raises(InputError, match="mlp"):
        models.build("lenet", (1, 8, 8), 10, seed=0)


def test_dropout_depends_on_the_key_alone_and_keeps_the_declared_share() -> None:
    task = Task(
        nn.Sequential(nn.Flatten(), nn.Linear(25, 3), nn.Dropout(0.4)),
        dtype=torch.float64,
    )
    batch = small_batch(4, 0)
    loss = vmap(task.loss, (None, 0, 0, 0))
    parameters = task.parameters(task.initial)
    first, again = loss(parameters, *batch), loss(parameters, *batch)
    other = loss(parameters, batch.x, batch.y, batch.key + 100)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    layer = KeyedDropout(0.4, 1).train()
    kept = layer(torch.ones(200_000))
    assert float((kept > 0).float().mean()) == pytest.approx(0.6, abs=0.01)
    assert float(kept.mean()) == pytest.approx(1.0, abs=0.02)
    assert torch.equal(layer.eval()(torch.ones(5)), torch.ones(5))


def test_masks_of_different_samples_and_layers_are_different() -> None:
    first, second = KeyedDropout(0.5, 1).train(), KeyedDropout(0.5, 2).train()
    ones = torch.ones(64)
    masks = []
    for layer in (first, second):
        for key in range(20):
            layer.key = torch.tensor(key)
            masks.append(tuple((layer(ones) > 0).tolist()))
    assert len(set(masks)) == 40


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
