"""Answers to whitened patches: those of the formula, the same for a mirror image, of one length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import dpdl
from dpdl.errors import InputError
from dpdl.tasks import patches
from dpdl.tasks.data import Dataset
from dpdl.tasks.directions import LENGTH, of_length
from dpdl.tasks.features import OF_MODEL, for_model
from dpdl.tasks.patches import FILE, Patches
from dpdl.tasks.trained import Trained
from tests.reference.patches import features
from tests.tasks.patch_material import pixels, tool


@pytest.mark.parametrize("size", [(9, 9), (11, 14)])
def test_features_are_those_of_the_formula(size: tuple[int, int]) -> None:
    with np.load(FILE) as found:
        filters, offsets = found["filters"], found["offsets"]
    x = pixels(1, *size)
    wanted = features(x[0].double().numpy(), filters, offsets)
    found = Patches((3, *size))(x)
    assert found.shape == (1, 512, 4, 4)
    np.testing.assert_allclose(found[0].numpy(), wanted, rtol=1e-4, atol=2e-5)


def test_an_image_and_its_mirror_image_have_the_same_features() -> None:
    x = pixels(3, 16, 18)
    transform = Patches((3, 16, 18))
    torch.testing.assert_close(transform(x), transform(x.flip(-1)))


def test_how_many_images_come_at_once_makes_no_difference() -> None:
    x = pixels(9, 14, 14)
    transform = Patches((3, 14, 14))
    assert torch.equal(transform(x), torch.cat([transform(one[None]) for one in x]))


def test_all_features_have_one_length_and_a_flat_image_has_none() -> None:
    x = pixels(4, 14, 14)
    x[3] = 7
    found = of_length(Patches((3, 14, 14))(x)).flatten(1).norm(dim=1)
    torch.testing.assert_close(found, torch.tensor([LENGTH] * 3 + [0.0]))


@pytest.mark.parametrize(
    ("shape", "words"),
    [((1, 28, 28), "needs colour images"), ((3, 8, 32), "at least 9 x 9")],
)
def test_other_images_are_refused(shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Patches(shape)
    with pytest.raises(InputError, match="images of shape"):
        Patches((3, 14, 14))(torch.zeros(1, *shape))


def test_the_file_is_what_the_tool_makes() -> None:
    """It is the same up to rounding, which another library of linear algebra may do otherwise."""
    made = tool()
    filters, offsets = made.filters(made.drawn(made.photographs(), made.PATCHES))
    with np.load(FILE) as found:
        np.testing.assert_allclose(found["filters"], filters, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found["offsets"], offsets, rtol=1e-3, atol=1e-3)
    assert Patches((3, 32, 32)).version == patches.VERSION


# ------------------------------------------------------------------ as a model
def colours(count: int = 90) -> Dataset:
    x = pixels(count, 20, 20)
    y = torch.arange(count) % 3
    x[:, :, 10:] //= 2
    for k in range(3):  # stripes across, along, or none
        x[y == k, :, :10] = 60
    x[y == 1, :, :10:2] = 200
    x[y == 2, :, :10, ::2] = 200
    return Dataset("own", x, y, x[:30].clone(), y[:30].clone(), 3, (0.5,), (0.5,))


MODELS = {"patch-linear": (512, 4, 4), "deep-patch-linear": (16384,)}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_gets_them_in_half_precision_and_only_once(model: str) -> None:
    data = colours()
    once = for_model(model, data)
    assert once.shape == MODELS[model] and once.x.dtype == torch.float16
    assert for_model(model, once) is once
    assert torch.equal(once.x, OF_MODEL[model](data.form).of(data.x))


@pytest.mark.parametrize("model", MODELS)
def test_floating_numbers_and_grey_images_are_refused(model: str) -> None:
    e = dpdl.Experiment(dataset="digits", model=model, rounds=1)
    with pytest.raises(InputError, match="takes pixels from 0 to 255"):
        dpdl.train(e)
    data = colours()
    grey = replace(data, x=data.x[:, :1], x_test=data.x_test[:, :1])
    with pytest.raises(InputError, match="needs colour images"):
        dpdl.train(e, data=grey)


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_and_is_given_back(tmp_path: Path, model: str) -> None:
    e = dpdl.Experiment(
        model=model,
        algorithm="d-psgd",
        graph="complete",
        agents=3,
        rounds=20,
        lr=0.5,
        batch=30,
        clip=1.0,
        partition="iid",
    )
    data = colours()
    result = dpdl.train(e, data=data, out=tmp_path / "run")
    assert result.summary["accuracy"]["average_model"] == 1.0
    assert result.plan.task.fused is not None or not dpdl.native.library()
    back = dpdl.load(tmp_path / "run")
    assert isinstance(back, Trained)
    assert torch.equal(back(data.x_test).argmax(1), data.y_test)
