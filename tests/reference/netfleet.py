"""NET-FLEET as plain loops over agents, neighbours and samples."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from tests.reference.gradient_tracking import Loops, Sample


@dataclass
class NetFleetLoops(Loops):
    """Step t: x' = W' x - eta y, then y' = W' y + g' - g at the new model, with W' = W when tau divides t."""

    tau: int = 1
    y: list[Tensor] = field(default_factory=list)
    g: list[Tensor] = field(default_factory=list)

    def begin(self, batches: list[list[Sample]]) -> None:
        """y^1 = g^1."""
        self.g = [self.private(1, i, batches[i]) for i in range(len(self.W))]
        self.y = list(self.g)

    def round(self, t: int, upcoming: list[list[Sample]]) -> None:
        """Step t; `upcoming` are the batches of round t + 1, on which the new models' gradients are taken."""
        agents = range(len(self.W))
        talk = t % self.tau == 0
        x = [self.mixed(i, self.x) if talk else self.x[i] for i in agents]
        y = [self.mixed(i, self.y) if talk else self.y[i] for i in agents]
        self.x = [x[i] - self.eta[t - 1] * self.y[i] for i in agents]
        g = [self.private(t + 1, i, upcoming[i]) for i in agents]
        self.y = [y[i] + g[i] - self.g[i] for i in agents]
        self.g = g
