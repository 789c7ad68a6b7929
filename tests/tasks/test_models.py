"""Models by name: their sizes, their seeds, and what cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from dpdl.errors import InputError
from dpdl.tasks import models
from dpdl.tasks.task import Task


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
