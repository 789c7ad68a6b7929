"""Quasi-global momentum as plain loops; `m` of the base holds the running mean mh."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.dpsgd import Agents, Sample


@dataclass
class PlainQGMomentum(Agents):
    beta: float = 0.0
    mu: float = 0.0

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        eta = self.etas[t - 1]
        stepped = []
        for i in range(len(self.W)):
            m = self.beta * self.m[i] + self.private_gradient(t, i, batches[i])
            stepped.append(self.x[i] - eta * m)
        new = self.mixed(stepped)
        for i in range(len(self.W)):
            went = (self.x[i] - new[i]) / eta
            self.m[i] = self.mu * self.m[i] + (1 - self.mu) * went
        self.x = new
