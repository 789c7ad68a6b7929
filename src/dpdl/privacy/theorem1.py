"""How much noise the paper and its public code add. Rules to reproduce, not guarantees.

Theorem 1 of the DPDL paper, as stated there, says that Algorithm 1 is (epsilon, delta)-DP over T
rounds when

    sigma >= (2 / sqrt(w_min) + 15 alpha N / 8 + alpha w_max (h + 1)^2 N / (2 h))
             c_2 q sqrt(T ln(1 / delta)) / (epsilon sqrt(sum over j in N_i of 1 / w_max)),
    q = B / (N min_i D_i).

Its constants c_2 and h are not given, its q is N times smaller than the probability that a record
takes part, and it overlooks that the un-noised self-gradient enters what is sent. See
`docs/algorithms/dpdl.md`. Units: sigma is the noise multiplier; the noise on the sum of clipped
gradients has standard deviation sigma C.
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
        return self._scale(sensitivity, self.w_max)

    def appendix_sigma(self, epsilon: float) -> float:
        """The same by the last formula of the paper's appendix, literally.

        Its middle term is 15 alpha (1 - w_min) / 8 where the statement has 15 alpha N / 8 (a factor
        N is lost between the last two lines), and it has w_min where the statement has w_max under
        the root.
        """
        sensitivity = (
            2 / math.sqrt(self.w_min)
            + 15 * self.alpha * (1 - self.w_min) / 8
            + self.alpha * self.w_max * (self.h + 1) ** 2 * self.agents / (2 * self.h)
        )
        return self._scale(sensitivity, self.w_min) / epsilon

    def complaints(self, epsilon: float, c1: float) -> list[str]:
        """The theorem's own side conditions that do not hold at this epsilon."""
        sigma, found = self.sigma(epsilon), []
        if self.rate >= 1 / (32 * sigma):
            found.append(
                f"Theorem 1's lemma asks for q < 1 / (32 sigma) = {1 / (32 * sigma):.3g}, but its "
                f"q is {self.rate:.3g}."
            )
        most = c1 * self.rate**2 * self.rounds
        if epsilon > most:
            found.append(
                f"Theorem 1 asks for epsilon <= c_1 q^2 T = {most:.3g} (c_1 = {c1:g}), but "
                f"epsilon is {epsilon:.3g}."
            )
        if sigma <= 1:
            found.append(
                f"Theorem 1's lemma asks for sigma > 1, but its sigma is {sigma:.3g}."
            )
        return found

    @property
    def rate(self) -> float:
        """The theorem's q = B / (N min_i D_i); a record's true rate is N times larger."""
        return self.batch_size / (self.agents * self.fewest_records)

    def _scale(self, sensitivity: float, weight: float) -> float:
        spread = math.sqrt(self.rounds * math.log(1 / self.delta))
        return (
            sensitivity
            * self.c2
            * self.rate
            * spread
            / math.sqrt(self.fewest_neighbours / weight)
        )

    def sigma(self, epsilon: float) -> float:
        """The smallest noise multiplier the theorem asks for."""
        return self.product / epsilon

    def epsilon(self, sigma: float) -> float:
        """The epsilon the theorem claims for a noise multiplier."""
        return self.product / sigma


def public_code_sigma(W: np.ndarray, batch_size: int, epsilon: float) -> float:
    """The noise multiplier of the authors' public code; the largest where agents differ.

    96 (B N / 500000) / epsilon (1 / sqrt(w_ii) + 1.5 N) / sqrt(sum_j 1 / w_ij). The constants are
    fixed there: 96 = sqrt(1000 ln 10^4) stands for 1,000 rounds and delta = 1e-4, and 1.5 for
    alpha, whatever is chosen.
    """
    n = len(W)
    inverse = np.divide(1.0, W, out=np.zeros_like(W), where=W > 0)
    factor = (1 / np.sqrt(np.diag(W)) + 1.5 * n) / np.sqrt(inverse.sum(axis=1))
    return float(96 * (batch_size * n / 5e5) / epsilon * factor.max())


def public_code_sigma_of_others(epsilon: float) -> float:
    """The noise multiplier that the authors' public code gives to the algorithms it compares with.

    There the deviation on the mean gradient is 2 * 4.2 C / (8 B epsilon), whatever the number of
    rounds and delta.
    """
    return 2 * 4.2 / 8 / epsilon
