"""`docs/features.md` says what results/study holds, and the experiment does what it says."""

from __future__ import annotations

import importlib
import json
from types import ModuleType

import pytest
import torch

from dpdl.tasks.patches import Patches
from tests.documents import HOME, text


@pytest.fixture
def study(monkeypatch) -> ModuleType:
    for folder in ("experiments", "tools"):
        monkeypatch.syspath_prepend(str(HOME / folder))
    return importlib.import_module("features")


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randint(256, (12, 3, 32, 32), generator=torch.manual_seed(0)).float()


def bank(study: ModuleType):
    filters, offsets = Patches((3, 32, 32))._bank
    return study.Bank(filters, offsets)


def test_the_page_has_the_table_of_the_results(study) -> None:
    found = json.loads(study.FILE.read_text("utf-8"))
    assert study.table(found) in text("docs/features.md")
    assert "patch-linear" in found
    steps = {f"{epsilon:g}": steps for epsilon, steps in study.STEPS.items()}
    for lines in found.values():
        for epsilon, tried in lines.items():
            assert sorted(tried) == sorted(map(str, steps[epsilon]))


def test_its_patches_are_those_of_the_package(study, images) -> None:
    expected = Patches((3, 32, 32))(images).flatten(1)
    assert torch.allclose(bank(study)(images), expected, atol=1e-4)


def test_an_image_and_its_mirror_image_are_two_views(study, images) -> None:
    views = study.with_mirror(bank(study), images)
    mirrored = study.with_mirror(bank(study), images.flip(-1))
    assert torch.allclose(views, mirrored.flip(1), atol=1e-4)
    together = views.square().sum(dim=1).sqrt()
    assert torch.allclose(together, bank(study)(images), atol=1e-4)


def test_shifts_move_the_image(study) -> None:
    image = torch.zeros(1, 3, 32, 32)
    image[..., 16, 10] = 1.0
    views = study.shifted(lambda x: x.flatten(1), image).view(4, 3, 32, 32)
    places = [tuple(map(int, view[0].nonzero()[0])) for view in views]
    assert places == [(18, 12), (18, 8), (14, 12), (14, 8)]


def test_gradients_of_views_are_averaged_and_then_clipped(study, images) -> None:
    views = 2
    y = torch.arange(12) % 10
    records = study.Records(
        lambda x: x.flatten(1)[:, : 40 * views].view(-1, views, 40),
        images,
        torch.arange(9),
    )
    weights = torch.randn(41, 10, generator=torch.manual_seed(1))
    expected = torch.zeros_like(weights)
    cut = 0
    for i in range(12):
        row = weights.clone().requires_grad_()
        scores = records.x[i].float() @ row[:-1] + row[-1]
        loss = torch.nn.functional.cross_entropy(scores, y[i].repeat(views))
        (gradient,) = torch.autograd.grad(loss, row)
        norm = float(gradient.norm())
        cut += norm > study.CLIP
        expected += gradient * min(1.0, study.CLIP / norm)
    assert cut > 0
    found = study.clipped(records, torch.arange(12), y, weights)
    assert torch.allclose(found, expected, atol=1e-5)
