"""Models by name: their sizes, their seeds, and what cannot be built."""

from __future__ import annotations

import threading
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


def test_threads_do_not_draw_from_the_seeds_of_each_other() -> None:
    began = threading.Event()

    def begin() -> nn.Module:
        began.set()
        return nn.Linear(4, 2)

    def make() -> nn.Module:
        other.start()
        began.wait(0.2)
        return nn.Linear(4, 2)

    other = threading.Thread(target=models.made_by, args=(begin, "the other one", 4))
    together = Task(models.made_by(make, "this one", 3)).initial
    other.join()
    assert began.is_set()
    alone = Task(models.made_by(lambda: nn.Linear(4, 2), "this one", 3)).initial
    assert torch.equal(together, alone)


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


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lenet", (1, 15, 28)),
        ("lenet", (784,)),
        ("cnn", (3, 4, 3)),
        ("cnn", (3, 32)),
        ("scatter-cnn", (81, 1, 7)),
    ],
)
def test_images_that_are_too_small_for_a_model_are_refused(
    name: str, shape: tuple[int, ...]
) -> None:
    with pytest.raises(InputError, match=f"{name!r} needs images .*--model mlp"):
        models.build(name, shape, 10, seed=0)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lenet", (2, 16, 17)),
        ("cnn", (1, 4, 6)),
        ("mlp", (7,)),
        ("scatter-linear", (81, 2, 2)),
        ("scatter-cnn", (5, 2, 3)),
    ],
)
def test_the_smallest_inputs_give_one_row_of_outputs(
    name: str, shape: tuple[int, ...]
) -> None:
    module = models.build(name, shape, 4, seed=0)
    assert module(torch.randn(3, *shape)).shape == (3, 4)


def test_a_linear_model_starts_at_zero() -> None:
    module = models.build("scatter-linear", (3, 2, 2), 4, seed=1)
    assert all(not p.any() for p in module.parameters())


def test_every_named_model_says_what_it_is() -> None:
    assert set(models.NAMES) == {
        "lenet",
        "cnn",
        "mlp",
        "scatter-linear",
        "scatter-cnn",
        "patch-linear",
        "deep-patch-linear",
    }
    assert all(named.about for named in models.NAMES.values())


OWN = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(4, 3))

class Broken(nn.Module):
    def __init__(self):
        raise RuntimeError("no file")
"""


def test_an_own_class_is_built_without_arguments_and_by_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    first, again, other = (
        Task(models.build("own_models:Net", (1, 2, 2), 3, seed)).initial
        for seed in (5, 5, 6)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    with pytest.raises(InputError, match="cannot be built without arguments: no file"):
        models.build("own_models:Broken", (1, 2, 2), 3, seed=0)
