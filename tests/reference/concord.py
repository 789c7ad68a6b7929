"""Concord as plain loops: noise pair by pair or by what it sums up to, and the mean as a plain mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tests.reference.dpsgd import PlainDPSGD, Sample


@dataclass
class PlainConcord(PlainDPSGD):
    """`shared` gives what an agent adds for its secrets: (round, agent, length) -> Tensor, over sigma C / B."""

    shared: Callable[[int, int, int], Tensor] | None = None

    def round(self, t: int, batches: list[list[Sample]]) -> None:
        N = len(self.W)
        decay, self.decay = self.decay, 0.0
        g = [self.private_gradient(t, i, batches[i]) for i in range(N)]
        self.decay = decay
        scale = self.sigma * self.C / self.B
        g = [g[i] + scale * self.shared(t, i, len(g[i])) for i in range(N)]
        mean = sum(g) / N
        for i in range(N):
            self.m[i] = self.beta * self.m[i] + mean + decay * self.x[i]
            self.x[i] = self.x[i] - self.etas[t - 1] * self.m[i]


def pair_sums(
    secrets: np.ndarray, c: float, draw: Callable[[int, int, int, int], Tensor]
) -> Callable[[int, int, int], Tensor]:
    """Pair by pair: the lower agent adds what the higher one subtracts. draw(t, low, high, length)."""

    def shared(t: int, i: int, length: int) -> Tensor:
        total = torch.zeros(length, dtype=torch.float64)
        for j in range(len(secrets)):
            if secrets[i, j]:
                z = draw(t, min(i, j), max(i, j), length)
                total = total + (c * z if i < j else -c * z)
        return total

    return shared


def centred(
    agents: int, c: float, draw: Callable[[int, int, int], Tensor]
) -> Callable[[int, int, int], Tensor]:
    """sqrt(N) c (xi^i - mean xi). draw(t, agent, length)."""

    def shared(t: int, i: int, length: int) -> Tensor:
        all_drawn = [draw(t, j, length) for j in range(agents)]
        return c * agents**0.5 * (all_drawn[i] - sum(all_drawn) / agents)

    return shared


def information(secrets: np.ndarray, agent: int, known: set[int], c: float) -> float:
    """1 / (variance of what is left of agent's noise when the others' releases have been used to predict it).

    The noise of an agent alone has variance 1; who is in `known` tells its secrets and its noise.
    """
    N = len(secrets)
    covariance = torch.eye(N, dtype=torch.float64)
    for j in range(N):
        for k in range(j):
            if secrets[j, k] and not {j, k} & known:
                pair = torch.zeros(N, dtype=torch.float64)
                pair[j], pair[k] = 1.0, -1.0
                covariance += c**2 * torch.outer(pair, pair)
    others = [j for j in range(N) if j != agent and j not in known]
    left = covariance[agent, agent]
    if others:
        cross = covariance[agent, others]
        left = left - cross @ torch.linalg.solve(covariance[others][:, others], cross)
    return 1 / float(left)
