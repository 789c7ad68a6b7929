"""Linearised consensus ADMM with a multiplier for every link: each round solves for the x of least tangent,
multipliers, penalties and proximal term, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class ADMMLoops(Loops):
    kappa: float = 0.5
    links: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents, c = range(len(self.W)), self.kappa / self.eta[t - 1]
        pairs = [(i, j) for i in agents for j in agents if i != j and self.W[i, j] > 0]
        for i, j in pairs:
            penalty = c * float(self.W[i, j])
            before = self.links.get((i, j), torch.zeros_like(self.x[i]))
            self.links[i, j] = before + penalty * (self.x[i] - self.x[j])
        new = []
        for i in agents:
            around = [j for a, j in pairs if a == i]
            total = sum(c * float(self.W[i, j]) for j in around)
            proximal = 1 / self.eta[t - 1] - 2 * total
            # 0 = g + y + sum of 2 c w (x - (x_i + x_j) / 2) + proximal (x - x_i), solved for x
            right = (2 * total + proximal) * self.x[i] - self.private(t, i, batches[i])
            for j in around:
                penalty = c * float(self.W[i, j])
                right = right - self.links[i, j] - penalty * (self.x[i] - self.x[j])
            new.append(right / (2 * total + proximal))
        self.x = new
