"""Two layers of patches: those of the formula, the same for a mirror image, of one length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks import patches
from dpdl.tasks.deep_patches import FILE, LEAST, VERSION, DeepPatches
from dpdl.tasks.directions import LENGTH, beside
from dpdl.tasks.patches import Patches
from tests.reference.deep_patches import Bank, second_features
from tests.tasks.patch_material import pixels, tool


def bank(file: Path) -> Bank:
    with np.load(file) as found:
        return found["filters"].astype(float), found["offsets"].astype(float)


@pytest.mark.parametrize("size", [(20, 20), (21, 25)])
def test_features_are_those_of_the_formula_beside_those_of_the_first_layer(
    size: tuple[int, int],
) -> None:
    x = pixels(2, *size)
    banks = bank(patches.FILE), bank(FILE)
    second = np.stack([second_features(one, *banks) for one in x.double().numpy()])
    wanted = beside(Patches((3, *size))(x), torch.from_numpy(second).float())
    found = DeepPatches((3, *size))(x)
    assert found.shape == (2, 16384) == (2, *DeepPatches((3, *size)).out)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("size", [(20, 20), (22, 25)])
def test_an_image_and_its_mirror_image_have_the_same_features(
    size: tuple[int, int],
) -> None:
    x = pixels(3, *size)
    transform = DeepPatches((3, *size))
    found = transform(x), transform(x.flip(-1))
    torch.testing.assert_close(*found, rtol=1e-3, atol=2e-5)


def test_how_many_images_come_at_once_makes_no_difference() -> None:
    x = pixels(9, 20, 20)
    transform = DeepPatches((3, 20, 20))
    assert torch.equal(transform(x), torch.cat([transform(one[None]) for one in x]))


def test_all_features_have_one_length_and_a_flat_image_has_none() -> None:
    x = pixels(4, 20, 20)
    x[3] = 7
    found = DeepPatches((3, 20, 20))(x)
    wanted = torch.tensor([LENGTH] * 3 + [0.0])
    torch.testing.assert_close(found.norm(dim=1), wanted)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((1, 28, 28), "needs colour images"), ((3, 19, 32), "at least 20 x 20")],
)
def test_other_images_are_refused(shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DeepPatches(shape)
    with pytest.raises(InputError, match="images of shape"):
        DeepPatches((3, LEAST, LEAST))(torch.zeros(1, *shape))


@pytest.mark.slow
def test_the_file_is_what_the_tool_makes() -> None:
    """It is the same up to half precision and to how a library of linear algebra rounds."""
    made = tool()
    wanted = made.second_filters(made.photographs())
    for found, part in zip(bank(FILE), wanted, strict=True):
        np.testing.assert_allclose(found, part, rtol=1e-3, atol=1e-3)
    assert DeepPatches((3, 32, 32)).version == VERSION
