"""A model on the plain and on the fused path, and how far their gradients are apart.

Inputs and weights lie on a coarse grid, so that convolutions are exact in both paths: ties in
max-pool and zeros at ReLU are then ties and zeros in both, and there are many of them.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from dpdl.native import library
from dpdl.privacy.clip import Clip
from dpdl.tasks.task import Task
from dpdl.types import Batch

compiled = pytest.mark.skipif(
    library() is None, reason="no compiler was there when the package was installed"
)


def on_grid(x: Tensor, per_unit: int) -> Tensor:
    return (x * per_unit).round() / per_unit


def pair(module: nn.Module, shape: tuple[int, ...]) -> tuple[Task, Task]:
    """The same model on the plain and on the fused path."""
    module = copy.deepcopy(module)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(on_grid(p, 16))
    plain, fused = Task(module), Task(module)
    fused.hasten(shape)
    assert plain.fused is None and fused.fused is not None
    return plain, fused


def batch_of(size: int, shape: tuple[int, ...], classes: int, seed: int = 0) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    x = on_grid(
        torch.randn(size, *shape, generator=draw), 2
    )  # coarse: many equal pixels
    return Batch(
        x,
        torch.randint(0, classes, (size,), generator=draw),
        1000 * seed + torch.arange(size),
    )


ROUNDING = 1e-6
"""How far float32 may move an entry of a mean gradient, however small the gradient is.

Where a class is certain, the derivative of its probability, p - 1, is rounded to a multiple of
6e-8 and then multiplied by activations: of a gradient of 1e-8 nothing is right, on either path.
What counts is the clip norm, which noise is measured in. The smallest one here is 0.01, so this is
a ten-thousandth of it.
"""


def difference(plain: Task, fused: Task, batch: Batch, clip: Clip) -> float:
    """How far the gradients are apart beyond rounding, over the largest entry.

    All else must be the same.
    """
    expected = clip.gradient(plain, plain.initial, batch, 7)
    found = clip.gradient(fused, fused.initial, batch, 7)
    assert found.loss == pytest.approx(expected.loss, rel=1e-4, abs=1e-4)
    assert found[2:] == expected[2:]
    scale = max(float(expected.gradient.abs().max()), 1e-3)
    apart = float((expected.gradient - found.gradient).abs().max())
    return max(0.0, apart - ROUNDING) / scale


KINK = 1e-5
"""How near to zero rounding may decide on which side of a ReLU a value is."""


def at_a_kink(module: nn.Module, batch: Batch) -> bool:
    """Whether rounding decides about a ReLU, so that two gradients are right.

    That is where an input of it is nearly zero in float64, after a layer whose results are not on
    the grid: dropout divides by 0.7, and group norm by a root.
    """
    module, found = copy.deepcopy(module), []

    def look(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.append(float(inputs[0].detach().abs().min()))

    exact = True
    for part in module:
        if isinstance(part, nn.ReLU) and not exact:
            part.register_forward_pre_hook(look)
        exact = exact and not isinstance(part, nn.Dropout | nn.GroupNorm)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(on_grid(p, 16))
    task = Task(module, dtype=torch.float64)
    parameters = task.parameters(task.initial)
    for x, y, key in zip(*batch, strict=True):
        task.loss(parameters, x.double(), y, key)
    return min(found, default=1.0) < KINK


def normal(filters: int, groups: int) -> nn.GroupNorm:
    """With a shift that is not zero: at zero, rounding would decide about ReLU."""
    norm = nn.GroupNorm(groups, filters, eps=0.1)
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(-1, 1.5, filters))
        norm.bias.copy_(torch.linspace(0.2, 0.7, filters))
    return norm
