"""The source of layers makes them again, or there is none."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dpdl.tasks import models
from dpdl.tasks.layer_source import layer_source

SHAPES = {
    "lenet": (1, 28, 28),
    "cnn": (3, 32, 32),
    "mlp": (1, 8, 8),
    "scatter-linear": (81, 7, 7),
    "scatter-cnn": (81, 7, 7),
    "patch-linear": (512, 4, 4),
    "deep-patch-linear": (16384,),
}


@pytest.mark.parametrize("name", models.NAMES)
def test_every_named_model_can_be_made_again(name: str) -> None:
    module = models.build(name, SHAPES[name], 10, seed=1).eval()
    calls = layer_source(module)
    assert calls is not None
    again = nn.Sequential(*(eval(call, {"nn": nn}) for call in calls)).eval()
    again.load_state_dict(module.state_dict())
    x = torch.randn(3, *SHAPES[name], generator=torch.Generator().manual_seed(0))
    assert torch.equal(again(x), module(x))


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)


class Narrow(nn.Linear):
    """Looks like a stock layer, and is none."""


@pytest.mark.parametrize(
    "module",
    [
        Own(),
        nn.Sequential(Own()),
        nn.Sequential(Narrow(3, 2)),
        nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 2))),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.Softplus()),
    ],
    ids=["class", "class inside", "subclass", "nested", "a layer that is not listed"],
)
def test_other_modules_have_no_source(module: nn.Module) -> None:
    assert layer_source(module) is None


def test_a_layer_that_was_changed_after_it_was_made_has_no_source() -> None:
    module = nn.Sequential(nn.Linear(3, 2))
    module[0].register_buffer("more", torch.zeros(1))
    assert layer_source(module) is None
