"""Momentum tracking as plain loops over agents, neighbours and samples."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class MomentumTrackingLoops(Loops):
    """u <- beta u + g; x <- W x - eta (u - c); c <- W(c - u) + u."""

    beta: float = 0.0
    u: list[Tensor] = field(default_factory=list)
    c: list[Tensor] = field(default_factory=list)

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents = range(len(self.W))
        if t == 1:
            self.u = [torch.zeros_like(row) for row in self.x]
            self.c = [torch.zeros_like(row) for row in self.x]
        g = [self.private(t, i, batches[i]) for i in agents]
        self.u = [self.beta * self.u[i] + g[i] for i in agents]
        self.x = [
            self.mixed(i, self.x) - self.eta[t - 1] * (self.u[i] - self.c[i])
            for i in agents
        ]
        apart = [self.c[i] - self.u[i] for i in agents]
        self.c = [self.mixed(i, apart) + self.u[i] for i in agents]
