"""Which records an agent uses in a round. The draw is private; its expected size B is public."""

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
    """Every record takes part with probability B / records, independently. The batch may be empty."""

    batch_size: int

    def __call__(self, records: int, randomness: Randomness, round: int, agent: int) -> np.ndarray:
        """One coin per record."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.flatnonzero(coins < self.batch_size / records)


@final
@dataclass(frozen=True)
class FixedSize:
    """Exactly B records without replacement."""

    batch_size: int

    def __call__(self, records: int, randomness: Randomness, round: int, agent: int) -> np.ndarray:
        """The B records with the smallest coins."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.sort(np.argsort(coins, kind="stable")[: self.batch_size])
