"""Muffliato as plain loops: a private step of every agent, then K gossip steps, message by message."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tests.reference.dpsgd import Agents, Sample


@dataclass
class PlainMuffliato(Agents):
    steps: int | None = None

    def plan(self) -> tuple[int, float]:
        """K and gamma from the eigenvalues of W."""
        values = sorted(np.linalg.eigvals(self.W).real, reverse=True)
        second, last = abs(values[1]), abs(values[-1])
        rho = max(second, last)
        if rho < 1e-12:
            return self.steps or 1, 1.0
        K = self.steps or math.ceil(math.log(len(self.W)) / math.sqrt(1 - second))
        return K, 2 / (1 + math.sqrt(1 - rho**2))

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N = len(self.W)
        K, gamma = self.plan()
        y = [
            self.x[i] - self.etas[t - 1] * self.private_gradient(t, i, batches[i])
            for i in range(N)
        ]
        history = [y, self.mixed(y)]
        for k in range(1, K):
            W_y = self.mixed(history[k])
            history.append(
                [gamma * W_y[i] + (1 - gamma) * history[k - 1][i] for i in range(N)]
            )
        self.x = history[K]
