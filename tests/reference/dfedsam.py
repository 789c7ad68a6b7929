"""DFedSAM as plain loops over agents, neighbours and samples; nothing is shared with `src`.

Gradients come from `torch.autograd`, one sample at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

Sample = tuple[Tensor, Tensor]


def clipped_mean(
    module: nn.Module, x: Tensor, batch: list[Sample], C: float, B: int
) -> Tensor:
    """(1/B) times the sum of the clipped gradients of single samples at x; the module's parameters are overwritten."""
    total = torch.zeros_like(x)
    for inputs, target in batch:
        nn.utils.vector_to_parameters(x, module.parameters())
        loss = nn.functional.cross_entropy(module(inputs[None]), target[None])
        g = torch.cat(
            [
                part.flatten()
                for part in torch.autograd.grad(loss, list(module.parameters()))
            ]
        )
        total = total + g * min(1.0, C / float(g.norm()))
    return total / B


def mixed(W: np.ndarray, rows: list[Tensor]) -> list[Tensor]:
    """Every agent's weighted mean over its neighbours."""
    agents = range(len(W))
    return [
        sum(float(W[i, j]) * rows[j] for j in agents if W[i, j] > 0) for i in agents
    ]


@dataclass
class Reference:
    """All agents of one run."""

    W: np.ndarray
    module: nn.Module
    eta: Callable[[int], float]
    beta: float
    rho: float
    tau: int
    decay: float
    C: float
    sigma: float
    B: int
    noise: Callable[
        [str, int, int, int], Tensor
    ]  # (which gradient, round, agent, length) -> standard normal vector
    x: list[Tensor] = field(default_factory=list)
    m: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in self.W]
        self.m = [torch.zeros_like(x0) for _ in self.W]

    def private(
        self, which: str, t: int, i: int, x: Tensor, batch: list[Sample]
    ) -> Tensor:
        z = self.noise(which, t, i, len(x))
        return (
            clipped_mean(self.module, x, batch, self.C, self.B)
            + self.sigma * self.C * z / self.B
        )

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        for i, batch in enumerate(batches):
            x = self.x[i]
            first = self.private("ascent", t, i, x, batch)
            length = float(first.norm())
            sharp = x + self.rho * first / length if length > 0 else x
            second = self.private("noise", t, i, sharp, batch)
            self.m[i] = self.beta * self.m[i] + second + self.decay * x
            self.x[i] = x - self.eta(t) * self.m[i]
        if t % self.tau == 0:
            self.x = mixed(self.W, self.x)
