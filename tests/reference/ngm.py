"""Neighbourhood gradient mean by plain loops, and the rounds of cross-gradients it shares with other references.

Nothing is shared with `src`. Gradients come from `torch.autograd`, one sample at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

Sample = tuple[Tensor, Tensor]
Pairs = dict[
    tuple[int, int], Tensor
]  # (owner of the model, owner of the data) -> gradient


@dataclass
class Neighbourhood:
    """All agents of one run; a subclass says how an agent combines the gradients around it."""

    W: np.ndarray
    module: nn.Module  # its parameters are overwritten
    eta: float
    beta: float
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int, int], Tensor
    ]  # (round, i, j, length) -> standard normal vector
    decay: float = 0.0
    sent: Callable[[Pairs], Pairs] | None = (
        None  # what askers receive of the answers; None: the answers
    )
    x: list[Tensor] = field(default_factory=list)
    m: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in self.W]
        self.m = [torch.zeros_like(x0) for _ in self.W]

    def around(self, i: int) -> list[int]:
        return [j for j in range(len(self.W)) if self.W[i, j] > 0]

    def answer(self, x: Tensor, batch: list[Sample], noise: Tensor) -> Tensor:
        """(1/B) times the sum of the clipped gradients and of the noise."""
        total = torch.zeros_like(x)
        for inputs, label in batch:
            nn.utils.vector_to_parameters(x, self.module.parameters())
            loss = nn.functional.cross_entropy(self.module(inputs[None]), label[None])
            g = torch.cat(
                [
                    part.flatten()
                    for part in torch.autograd.grad(
                        loss, list(self.module.parameters())
                    )
                ]
            )
            total = total + g * min(1.0, self.C / float(g.norm()))
        return (total + self.sigma * self.C * noise) / self.B

    def combine(self, i: int, made: Pairs, received: Pairs) -> Tensor:
        raise NotImplementedError

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        agents = range(len(self.W))
        made: Pairs = {}
        for j in agents:
            for i in self.around(j):
                made[i, j] = self.answer(
                    self.x[i], batches[j], self.noise(t, i, j, len(self.x[i]))
                )
        received = self.sent(made) if self.sent else made
        steps = []
        for i in agents:
            steps.append(
                self.beta * self.m[i]
                + self.combine(i, made, received)
                + self.decay * self.x[i]
            )
        mixed = [
            sum(float(self.W[i, j]) * self.x[j] for j in self.around(i)) for i in agents
        ]
        self.m = steps
        self.x = [mixed[i] - self.eta * steps[i] for i in agents]


@dataclass
class Mean(Neighbourhood):
    """NGM: agent i averages what it made on its own records, and what it received about its own model."""

    a: float = 0.5

    def combine(self, i: int, made: Pairs, received: Pairs) -> Tensor:
        total = torch.zeros_like(self.x[i])
        for j in self.around(i):
            w = float(self.W[i, j])
            total = total + (1 - self.a) * w * made[j, i] + self.a * w * received[i, j]
        return total
