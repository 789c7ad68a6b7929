"""Small pictures, and the problem of rebuilding them from their gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dpdl.attacks.inverting import Problem
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.scenarios import Target
from dpdl.privacy.clip import Unclipped
from dpdl.tasks.task import Task
from dpdl.types import Batch

PIXELS = Pixels((0.5,), (0.5,))
SHAPE = (1, 28, 28)


def strokes(count: int, seed: int = 0) -> Tensor:
    """Dark images with a few bright, soft strokes, normalised."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.zeros(count, *SHAPE)
    for image in x:
        for _ in range(3):
            y, z = torch.randint(5, 20, (2,), generator=draw).tolist()
            image[0, y : y + 3, z : z + 8 - 2 * (y % 3)] = 1
    kernel = torch.tensor([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]])[None, None] / 16
    return PIXELS.from_unit(nn.functional.conv2d(x, kernel, padding=1).clamp(0, 1))


def quiet(share: float) -> None:
    """Nobody watches."""


def problem_of(task: Task, x: Tensor, y: Tensor, noise: float = 0.0) -> Problem:
    """Targets are gradients of batches x (targets, batch, ...), with noise of a relative length."""
    targets = []
    for images, labels in zip(x, y, strict=True):
        batch = Batch(images, labels, torch.zeros(len(labels), dtype=torch.int64))
        g = Unclipped().gradient(task, task.initial, batch, len(labels)).gradient
        g = g + noise * g.norm() * torch.nn.functional.normalize(
            torch.randn(g.shape), dim=0
        )
        targets.append(Target(task.initial, g, 0))
    return Problem.of(task, targets, tuple(x.shape[2:]))
