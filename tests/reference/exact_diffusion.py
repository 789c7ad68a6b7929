"""D^2 and exact diffusion as plain loops, in the form of the D^2 paper: x'' = V (2 x' - x - eta' g' + eta g)."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class ExactDiffusionLoops(Loops):
    lazy: bool = True
    before: list[Tensor] = field(default_factory=list)  # x - eta g of the last round

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents = range(len(self.W))
        step = [self.eta[t - 1] * self.private(t, i, batches[i]) for i in agents]
        rows = (
            [2 * self.x[i] - step[i] - self.before[i] for i in agents]
            if self.before
            else [self.x[i] - step[i] for i in agents]
        )
        self.before = [self.x[i] - step[i] for i in agents]
        self.x = [
            rows[i] / 2 + self.mixed(i, rows) / 2 if self.lazy else self.mixed(i, rows)
            for i in agents
        ]
