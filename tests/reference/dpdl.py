"""Algorithm 1 of the DPDL paper, line by line: loops over agents, neighbours and samples; nothing is shared with `src`.

Vectors are kept in dictionaries and lists; gradients come from `torch.autograd`, one sample at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

Sample = tuple[Tensor, Tensor]


@dataclass
class Reference:
    """All agents of one run."""

    W: np.ndarray
    module: nn.Module  # its parameters are overwritten
    eta: float
    beta: float
    alpha: float
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int, int], Tensor
    ]  # (round, i, j, length) -> standard normal vector
    sound: bool = False
    x: list[Tensor] = field(default_factory=list)
    v: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in self.W]
        self.v = [torch.zeros_like(x0) for _ in self.W]

    def gradient(self, x: Tensor, sample: Sample) -> Tensor:
        """grad F(x; zeta) of a single sample."""
        nn.utils.vector_to_parameters(x, self.module.parameters())
        loss = nn.functional.cross_entropy(
            self.module(sample[0][None]), sample[1][None]
        )
        return torch.cat(
            [
                g.flatten()
                for g in torch.autograd.grad(loss, list(self.module.parameters()))
            ]
        )

    def clipped_mean(self, x: Tensor, batch: list[Sample]) -> Tensor:
        """(1/B) times the sum of the clipped gradients; lines 8, 9, 12, 13, 14."""
        total = torch.zeros_like(x)
        for sample in batch:
            g = self.gradient(x, sample)
            total = total + g * min(1.0, self.C / float(g.norm()))
        return total / self.B

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N = len(self.W)
        neighbours = [[j for j in range(N) if self.W[i, j] > 0] for i in range(N)]
        hat: dict[tuple[int, int], Tensor] = {}
        ddot: dict[tuple[int, int], Tensor] = {}
        # Agent j computes the cross-gradient of x^i on its own batch, clips, averages, perturbs.
        for j in range(N):
            for i in neighbours[j]:
                hat[i, j] = self.clipped_mean(self.x[i], batches[j])
                z = self.sigma * self.C * self.noise(t, i, j, len(self.x[i]))
                ddot[i, j] = hat[i, j] + z / self.B
        v_tilde, x_tilde = [], []
        for i in range(N):
            r = ddot[i, i] if self.sound else hat[i, i]
            g_tilde = torch.zeros_like(self.x[i])
            for j in neighbours[i]:
                lengths = float(ddot[i, j].norm()) * float(r.norm())
                similarity = float(ddot[i, j] @ r) / lengths if lengths else 0.0
                coefficient = 1 / (1 + math.exp(similarity))
                w = float(self.W[i, j])
                g_tilde = (
                    g_tilde
                    + ddot[i, j] / (math.sqrt(w) * N)
                    + self.alpha * w * coefficient * r
                )
            v_tilde.append(self.beta * self.v[i] + g_tilde)
            x_tilde.append(self.x[i] - self.eta * v_tilde[i])
        # Gossip: every agent averages what it received, its own included.
        self.v = [
            sum(float(self.W[i, j]) * v_tilde[j] for j in neighbours[i])
            for i in range(N)
        ]
        self.x = [
            sum(float(self.W[i, j]) * x_tilde[j] for j in neighbours[i])
            for i in range(N)
        ]
