"""The picture shows the same records in every row, in the order of the agents."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dpdl.attacks.pixels import Pixels
from dpdl.pages.gallery import gallery_figure
from dpdl.studies.demo.gallery import TRUTH, gallery_of
from tests.told import facts

PIXELS = Pixels((0.5,), (0.5,))


def attacked(found: torch.Tensor, truth: torch.Tensor) -> SimpleNamespace:
    outcome = SimpleNamespace(found=found, truth=truth)
    return SimpleNamespace(outcomes=[outcome], pixels=PIXELS)


@pytest.fixture
def told() -> list:
    truth = torch.rand(3, 1, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    open_, paper, proven = facts().parts
    black = -torch.ones_like(truth)
    return [
        (open_, attacked(truth, truth)),
        (paper, attacked(black, truth)),
        (proven, attacked(black, truth)),
    ]


def test_every_part_is_a_row_under_the_records(told) -> None:
    found = gallery_of(told, (0, 1, 2))
    first, *others = found.rows
    assert first == TRUTH
    assert [name.split(":")[0] for name in others] == [
        "no noise",
        "paper's noise",
        "proven noise",
    ]
    assert "epsilon 0.5 is claimed" in others[1]
    assert "epsilon 0.5 is proven" in others[2]
    assert "epsilon" not in others[0]
    assert found.columns == ["agent 0", "agent 1", "agent 2"]
    torch.testing.assert_close(found.rows[TRUTH][1], found.rows[others[0]][1])
    assert found.captions[others[0]] == ["SSIM 1.00"] * 3
    assert "round 5" in found.title


def test_it_can_be_drawn(told) -> None:
    assert len(gallery_figure(*gallery_of(told, (0, 1, 2))).axes) == 12
