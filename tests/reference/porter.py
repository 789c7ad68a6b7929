"""PORTER as plain loops, with copies q and p of every agent's tracker and model; signs entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from tests.reference.compression import Feedback
from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class PorterLoops(Loops):
    gamma: float = 1.0
    sizes: tuple[int, ...] | None = (
        None  # of the parameter tensors; None: nothing is left out
    )
    v: list[Tensor] = field(default_factory=list)
    g: list[Tensor] = field(default_factory=list)
    q: list[Tensor] = field(default_factory=list)
    p: list[Tensor] = field(default_factory=list)

    def told(self, row: Tensor) -> Tensor:
        return row if self.sizes is None else Feedback(self.sizes).signs(row)

    def pulled(self, i: int, known: list[Tensor]) -> Tensor:
        """gamma times the sum of w_ij (known_j - known_i)."""
        total = torch.zeros_like(known[i])
        for j in range(len(self.W)):
            total = total + self.gamma * float(self.W[i, j]) * (known[j] - known[i])
        return total

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents = range(len(self.W))
        g = [self.private(t, i, batches[i]) for i in agents]
        if not self.q:
            zero = [torch.zeros_like(row) for row in self.x]
            self.v, self.g, self.q, self.p = zero, zero, zero, zero
        self.v = [self.v[i] + self.pulled(i, self.q) + g[i] - self.g[i] for i in agents]
        self.x = [
            self.x[i] + self.pulled(i, self.p) - self.eta[t - 1] * self.v[i]
            for i in agents
        ]
        self.q = [self.q[i] + self.told(self.v[i] - self.q[i]) for i in agents]
        self.p = [self.p[i] + self.told(self.x[i] - self.p[i]) for i in agents]
        self.g = g
