"""How much noise the paper and its public code add. Rules to reproduce, not guarantees.

Theorem 1 of the DPDL paper, as stated there, says that Algorithm 1 is (epsilon, delta)-DP over T rounds when

    sigma >= (2 / sqrt(w_min) + 15 alpha N / 8 + alpha w_max (h + 1)^2 N / (2 h)) c_2 q sqrt(T ln(1 / delta))
             / (epsilon sqrt(sum over j in N_i of 1 / w_max)),      q = B / (N min_i D_i).

Its constants c_2 and h are not given, its q is N times smaller than the probability that a record takes part, and it
overlooks that the un-noised self-gradient enters what is sent. See `docs/algorithms/dpdl.md`. Units: sigma is the noise
multiplier; the noise on the sum of clipped gradients has standard deviation sigma C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np


@final
@dataclass(frozen=True)
class Theorem1:
    """The theorem's sigma for an epsilon, and the epsilon it claims for a sigma."""

    agents: int  # N
    fewest_neighbours: int  # min_i |N_i|, the agent itself included
    w_min: float
    w_max: float
    fewest_records: int  # min_i D_i
    batch_size: int  # B
    rounds: int  # T
    delta: float
    alpha: float
    c2: float = 1.0
    h: float = 1.0

    @property
    def product(self) -> float:
        """Sigma times epsilon: one number couples them."""
        n = self.agents
        sensitivity = (
            2 / math.sqrt(self.w_min)
            + 15 * self.alpha * n / 8
            + self.alpha * self.w_max * (self.h + 1) ** 2 * n / (2 * self.h)
        )
        q = self.batch_size / (n * self.fewest_records)
        spread = math.sqrt(self.rounds * math.log(1 / self.delta))
        return sensitivity * self.c2 * q * spread / math.sqrt(self.fewest_neighbours / self.w_max)

    def sigma(self, epsilon: float) -> float:
        """The smallest noise multiplier the theorem asks for."""
        return self.product / epsilon

    def epsilon(self, sigma: float) -> float:
        """The epsilon the theorem claims for a noise multiplier."""
        return self.product / sigma


def public_code_sigma(W: np.ndarray, batch_size: int, epsilon: float) -> float:
    """The noise multiplier of the authors' public code; the largest over the agents where they differ.

    96 (B N / 500000) / epsilon (1 / sqrt(w_ii) + 1.5 N) / sqrt(sum_j 1 / w_ij). The constants are fixed there:
    96 = sqrt(1000 ln 10^4) stands for 1,000 rounds and delta = 1e-4, and 1.5 for alpha, whatever is chosen.
    """
    n = len(W)
    inverse = np.divide(1.0, W, out=np.zeros_like(W), where=W > 0)
    factor = (1 / np.sqrt(np.diag(W)) + 1.5 * n) / np.sqrt(inverse.sum(axis=1))
    return float(96 * (batch_size * n / 5e5) / epsilon * factor.max())
