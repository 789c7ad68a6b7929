"""Which records an agent uses in a round. The draw is private; its rate, and so the size B it aims at, is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from dpdl.privacy.noise import Randomness


class Sampling(Protocol):
    """Draws record numbers of one agent."""

    def __call__(self, records: int, randomness: Randomness, round: int, agent: int) -> np.ndarray:
        """Ascending record numbers out of `range(records)`."""
        ...


@final
@dataclass(frozen=True)
class Poisson:
    """Every record takes part with probability B / declared, independently. The batch may be empty.

    The rate is a public constant: whether a record takes part does not depend on how many others there are.
    """

    batch_size: int
    declared: tuple[int, ...]  # the number of records that every agent declared

    def rate(self, agent: int) -> float:
        """The probability q_i; 1 where fewer than B records are declared."""
        return min(1.0, self.batch_size / self.declared[agent])

    def __call__(self, records: int, randomness: Randomness, round: int, agent: int) -> np.ndarray:
        """One coin per record."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.flatnonzero(coins < self.rate(agent))


@final
@dataclass(frozen=True)
class FixedSize:
    """Exactly B records without replacement."""

    batch_size: int

    def __call__(self, records: int, randomness: Randomness, round: int, agent: int) -> np.ndarray:
        """The B records with the smallest coins."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.sort(np.argsort(coins, kind="stable")[: self.batch_size])
