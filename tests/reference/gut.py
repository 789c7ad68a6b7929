"""GUT as plain loops over agents, neighbours and samples, with the bracket written out."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class GUTLoops(Loops):
    """y = D + mu [sum_j w_ij (y_j - (x_j - x_i) / eta) - D_i], all of the bracket from the round before."""

    mu: float = 0.0
    y: list[Tensor] = field(default_factory=list)
    bracket: list[Tensor] = field(default_factory=list)

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N, eta = len(self.W), self.eta[t - 1]
        D = []
        for i in range(N):
            pull = torch.zeros_like(self.x[i])
            for j in range(N):
                pull = pull + float(self.W[i, j]) * (self.x[j] - self.x[i])
            D.append(self.private(t, i, batches[i]) - pull / eta)
        self.y = (
            [D[i] + self.mu * self.bracket[i] for i in range(N)] if t > 1 else list(D)
        )
        self.bracket = []
        for i in range(N):
            total = -D[i]
            for j in range(N):
                total = total + float(self.W[i, j]) * (
                    self.y[j] - (self.x[j] - self.x[i]) / eta
                )
            self.bracket.append(total)
        self.x = [self.x[i] - eta * self.y[i] for i in range(N)]
