"""A(DP)^2SGD, tick by tick, as plain loops; nothing is shared with `src`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from tests.reference.dfedsam import Sample, clipped_mean


@dataclass
class Reference:
    """All agents of one run."""

    agents: int
    module: nn.Module  # its parameters are overwritten
    eta: Callable[[int], float]
    decay: float
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int], Tensor
    ]  # (tick, agent, length) -> standard normal vector
    x: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in range(self.agents)]

    def tick(
        self, t: int, active: int, partner: int | None, batch: list[Sample]
    ) -> None:
        before = self.x[active]
        z = self.noise(t, active, len(before))
        g = (
            clipped_mean(self.module, before, batch, self.C, self.B)
            + self.sigma * self.C * z / self.B
        )
        if partner is not None:
            halfway = torch.stack([before, self.x[partner]]).mean(dim=0)
            self.x[active], self.x[partner] = halfway, halfway
        self.x[active] = self.x[active] - self.eta(t) * (g + self.decay * before)
