"""D-PSGD and momentum SGD as plain loops over agents, neighbours and samples; nothing is shared with `src`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

Sample = tuple[Tensor, Tensor]


@dataclass
class Agents:
    """All agents of one run, and the private gradient of each at its own model."""

    W: np.ndarray
    module: nn.Module  # its parameters are overwritten
    etas: list[float]  # step size of round 1, 2, ...
    decay: float  # weight decay
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int, int], Tensor
    ]  # (round, i, j, length) -> standard normal vector
    x: list[Tensor] = field(default_factory=list)
    m: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in self.W]
        self.m = [torch.zeros_like(x0) for _ in self.W]

    def private_gradient(self, t: int, i: int, batch: list[Sample]) -> Tensor:
        """Every sample clipped to C, noise sigma C on the sum, divided by B; then weight decay."""
        total = torch.zeros_like(self.x[i])
        for image, label in batch:
            nn.utils.vector_to_parameters(self.x[i], self.module.parameters())
            loss = nn.functional.cross_entropy(self.module(image[None]), label[None])
            g = torch.cat(
                [
                    p.flatten()
                    for p in torch.autograd.grad(loss, list(self.module.parameters()))
                ]
            )
            norm = float(g.norm())
            total = total + (g * self.C / norm if norm > self.C else g)
        z = self.sigma * self.C * self.noise(t, i, i, len(total))
        return (total + z) / self.B + self.decay * self.x[i]

    def mixed(self, rows: list[Tensor]) -> list[Tensor]:
        """sum_j w_ij rows_j for every agent i."""
        out = []
        for i in range(len(self.W)):
            total = torch.zeros_like(rows[i])
            for j in range(len(self.W)):
                if self.W[i, j] > 0:
                    total = total + float(self.W[i, j]) * rows[j]
            out.append(total)
        return out


@dataclass
class PlainDPSGD(Agents):
    beta: float = 0.0

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N = len(self.W)
        g = [self.private_gradient(t, i, batches[i]) for i in range(N)]
        self.m = [self.beta * self.m[i] + g[i] for i in range(N)]
        W_x = self.mixed(self.x)
        self.x = [W_x[i] - self.etas[t - 1] * self.m[i] for i in range(N)]


@dataclass
class PlainDMSGD(Agents):
    """The last lines of DPDL's Algorithm 1, with the agent's own gradient as the calibrated one."""

    beta: float = 0.0

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        v_tilde, x_tilde = [], []
        for i in range(len(self.W)):
            g_tilde = self.private_gradient(t, i, batches[i])
            v_tilde.append(self.beta * self.m[i] + g_tilde)
            x_tilde.append(self.x[i] - self.etas[t - 1] * v_tilde[i])
        self.m, self.x = self.mixed(v_tilde), self.mixed(x_tilde)
