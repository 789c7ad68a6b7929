"""Epidemic learning as plain loops: who meets whom is given, weights are computed pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class EpidemicLoops(Loops):
    def meet(
        self, t: int, batches: list[list[Sample]], met: list[tuple[int, int]]
    ) -> None:
        """One round in which these pairs talk."""
        degree = [sum(i in pair for pair in met) for i in range(len(self.W))]
        stepped = [
            self.x[i] - self.eta[t - 1] * self.private(t, i, batches[i])
            for i in range(len(self.W))
        ]
        self.x = [row.clone() for row in stepped]
        for i, j in met:
            w = 1 / (1 + max(degree[i], degree[j]))
            self.x[i] += w * (stepped[j] - stepped[i])
            self.x[j] += w * (stepped[i] - stepped[j])
