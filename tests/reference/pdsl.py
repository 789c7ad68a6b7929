"""PDSL as plain loops over agents, neighbours, orders and samples; nothing is shared with `src`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import torch
from torch import Tensor, nn

from tests.reference.dfedsam import Sample, clipped_mean, mixed


def exact_shapley(players: int, value: Callable[[set[int]], float]) -> list[float]:
    """The textbook sum over all coalitions without the player."""
    found = []
    for j in range(players):
        others = [k for k in range(players) if k != j]
        phi = 0.0
        for size in range(players):
            share = (
                math.factorial(size)
                * math.factorial(players - size - 1)
                / math.factorial(players)
            )
            for S in combinations(others, size):
                phi += share * (value({*S, j}) - value(set(S)))
        found.append(phi)
    return found


@dataclass
class Reference:
    """All agents of one run."""

    W: np.ndarray
    module: nn.Module  # its parameters are overwritten
    eta: Callable[[int], float]
    beta: float
    decay: float
    C: float
    sigma: float
    B: int
    noise: Callable[
        [int, int, int, int], Tensor
    ]  # (round, i, j, length) -> standard normal vector
    orders: Callable[
        [int, int, int], list[tuple[int, ...]]
    ]  # (round, i, how many neighbours) -> orders of them
    public: list[Sample]
    x: list[Tensor] = field(default_factory=list)
    v: list[Tensor] = field(default_factory=list)

    def start(self, x0: Tensor) -> None:
        self.x = [x0.clone() for _ in self.W]
        self.v = [torch.zeros_like(x0) for _ in self.W]

    def accuracy(self, x: Tensor) -> float:
        nn.utils.vector_to_parameters(x, self.module.parameters())
        with torch.no_grad():
            guesses = self.module(
                torch.stack([inputs for inputs, _ in self.public])
            ).argmax(1)
        return sum(
            int(g) == int(target)
            for g, (_, target) in zip(guesses, self.public, strict=True)
        ) / len(guesses)

    def weights(self, t: int, i: int, g: list[Tensor]) -> list[float]:
        """The share of every neighbour's gradient; no coalition is remembered."""

        def value(S: tuple[int, ...]) -> float:
            if not S:
                return self.accuracy(self.x[i])
            candidates = [self.x[i] - self.eta(t) * g[j] for j in S]
            return self.accuracy(torch.stack(candidates).mean(dim=0))

        orders = self.orders(t, i, len(g))
        phi = [0.0] * len(g)
        for order in orders:
            for place, j in enumerate(order):
                phi[j] += (value(order[: place + 1]) - value(order[:place])) / len(
                    orders
                )
        positive = [p if p > 1e-12 else 0.0 for p in phi]
        return (
            [p / sum(positive) for p in positive]
            if any(positive)
            else [1 / len(g)] * len(g)
        )

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N = len(self.W)
        neighbours = [[j for j in range(N) if self.W[i, j] > 0] for i in range(N)]
        ddot: dict[tuple[int, int], Tensor] = {}
        for j in range(N):
            for i in neighbours[j]:
                z = self.sigma * self.C * self.noise(t, i, j, len(self.x[i]))
                ddot[i, j] = (
                    clipped_mean(self.module, self.x[i], batches[j], self.C, self.B)
                    + z / self.B
                )
        v_tilde, x_tilde = [], []
        for i in range(N):
            g = [ddot[i, j] for j in neighbours[i]]
            total = torch.zeros_like(self.x[i])
            for share, one in zip(self.weights(t, i, g), g, strict=True):
                total = total + share * one
            v_tilde.append(self.beta * self.v[i] + total + self.decay * self.x[i])
            x_tilde.append(self.x[i] - self.eta(t) * v_tilde[i])
        self.v, self.x = mixed(self.W, v_tilde), mixed(self.W, x_tilde)
