"""D-PSGD with noise shared by neighbours, as plain loops; the covariance of the noise as a plain sum over links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tests.reference.dpsgd import PlainDPSGD, Sample


@dataclass
class PlainDecor(PlainDPSGD):
    c: float = 0.0
    shared: Callable[[int, int, int, int], Tensor] | None = (
        None  # (round, lower, higher, length) -> standard normals
    )

    def private_gradient(self, t: int, i: int, batch: list[Sample]) -> Tensor:
        g = super().private_gradient(t, i, batch)
        for j in range(len(self.W)):
            if j != i and self.W[i, j] > 0:
                z = self.shared(t, min(i, j), max(i, j), len(g))
                sign = 1.0 if i < j else -1.0
                g = g + sign * self.c * self.sigma * self.C * z / self.B
        return g


def sigma_eff(W: np.ndarray, i: int, known: set[int], c: float) -> float:
    """Deviation of the noise that hides a gradient of agent i, whose own is 1, from who knows what `known` know.

    The best estimate of it subtracts from what i released what can be predicted from what the others released.
    """
    N = len(W)
    covariance = torch.zeros(N, N, dtype=torch.float64)
    for j in range(N):
        covariance[j, j] += 1.0
        for k in range(j):
            if W[j, k] > 0 and not {j, k} & known:
                link = torch.zeros(N, dtype=torch.float64)
                link[j], link[k] = 1.0, -1.0
                covariance += c**2 * torch.outer(link, link)
    others = [j for j in range(N) if j != i and j not in known]
    cross = covariance[i, others]
    explained = (
        cross @ torch.linalg.solve(covariance[others][:, others], cross)
        if others
        else 0.0
    )
    return float(covariance[i, i] - explained) ** 0.5
