"""Gradient tracking as plain loops: over agents, neighbours and samples; nothing is shared with `src`.

Vectors are kept in lists; gradients come from `torch.autograd`, one sample at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

Sample = tuple[Tensor, Tensor]


@dataclass
class Loops:
    """All agents of one run, and what they do alike."""

    W: np.ndarray
    module: nn.Module  # its parameters are overwritten
    eta: list[float]  # step size of rounds 1, 2, ...
    decay: float  # of the weights
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int, int], Tensor
    ]  # (round, i, j, length) -> standard normal vector
    x: list[Tensor] = field(default_factory=list)

    def private(self, t: int, i: int, batch: list[Sample]) -> Tensor:
        """(1/B) (sum of clipped gradients + noise) + decay x, at agent i's own model."""
        x = self.x[i]
        total = self.sigma * self.C * self.noise(t, i, i, len(x))
        for sample in batch:
            nn.utils.vector_to_parameters(x, self.module.parameters())
            loss = nn.functional.cross_entropy(
                self.module(sample[0][None]), sample[1][None]
            )
            g = torch.cat(
                [
                    part.flatten()
                    for part in torch.autograd.grad(
                        loss, list(self.module.parameters())
                    )
                ]
            )
            total = total + g * min(1.0, self.C / float(g.norm()))
        return total / self.B + self.decay * x

    def mixed(self, i: int, rows: list[Tensor]) -> Tensor:
        """sum over j of w_ij rows_j."""
        total = torch.zeros_like(rows[i])
        for j in range(len(self.W)):
            if self.W[i, j] > 0:
                total = total + float(self.W[i, j]) * rows[j]
        return total


@dataclass
class GradientTrackingLoops(Loops):
    """x' = W(x - eta y), y' = W y + g' - g, in the order of the paper: the first tracker is the first gradient."""

    y: list[Tensor] = field(default_factory=list)
    g: list[Tensor] = field(default_factory=list)

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents = range(len(self.W))
        g = [self.private(t, i, batches[i]) for i in agents]
        self.y = (
            [self.mixed(i, self.y) + g[i] - self.g[i] for i in agents] if self.y else g
        )
        self.g = g
        stepped = [self.x[i] - self.eta[t - 1] * self.y[i] for i in agents]
        self.x = [self.mixed(i, stepped) for i in agents]
