"""Which records an agent uses in a round. The draw is private; its rate, and so the size B it aims at, is public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, final

import numpy as np

from dpdl.privacy.declared import most_records
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


@lru_cache(maxsize=1024)
def largest_batch(batch_size: int, declared: int, failure: float) -> int:
    """A Poisson batch of an agent that declares so many records is larger with probability `failure` at most.

    One record more than the agent has is counted: that whose presence is in question.
    """
    from scipy.special import bdtrc

    most, rate = most_records(declared), min(1.0, batch_size / declared)
    if rate >= 1:
        return most + 1
    low, high = 0, most  # P(more than high) = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtrc(middle, most, rate) <= failure else (middle + 1, high)
    return low + 1
