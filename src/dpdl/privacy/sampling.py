"""Which records an agent uses in a round. The draw is private; the size B it aims at is public.

Two ways, and no others: `Mechanism` accounts for these. Both know B, and the number of records
that every agent declared, which is public as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.privacy.noise import Randomness


@final
@dataclass(frozen=True)
class Poisson:
    """Every record takes part with probability B / declared, independently; none may.

    With a `fraction` it is that of every agent, and B is so much of the mean declared number: what
    all agents' gradients are divided by, so that the mean over agents counts every record alike.

    The rate is a public constant: whether a record takes part does not depend on how many others
    there are.
    """

    batch_size: int  # B, expected
    declared: tuple[int, ...] = field(repr=False)  # records of every agent
    fraction: float | None = None  # q of every agent; None: B / declared
    fixed = False

    def __post_init__(self) -> None:
        _check(self.batch_size, self.declared)
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise InputError(
                f"rate must be above 0 and at most 1, not {self.fraction}."
            )

    @classmethod
    def at_rate(cls, rate: float, declared: tuple[int, ...]) -> Poisson:
        """The same share of every agent's records; B is that of their mean number."""
        mean = sum(declared) / max(1, len(declared))
        return cls(max(1, round(rate * mean)), declared, rate)

    def rate(self, agent: int) -> float:
        """The probability q_i; 1 where fewer than B records are declared."""
        if self.fraction is not None:
            return self.fraction
        return min(1.0, self.batch_size / self.declared[agent])

    def draw(
        self, records: int, randomness: Randomness, round: int, agent: int
    ) -> np.ndarray:
        """Ascending record numbers out of `range(records)`: one coin per record."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.flatnonzero(coins < self.rate(agent))


@final
@dataclass(frozen=True)
class FixedSize:
    """Exactly B records without replacement, or all where there are fewer."""

    batch_size: int  # B
    declared: tuple[int, ...] = field(repr=False)
    fraction = None
    fixed = True

    def __post_init__(self) -> None:
        _check(self.batch_size, self.declared)

    def rate(self, agent: int) -> float:
        """The share of the declared records that takes part."""
        return min(1.0, self.batch_size / self.declared[agent])

    def draw(
        self, records: int, randomness: Randomness, round: int, agent: int
    ) -> np.ndarray:
        """Ascending record numbers: those with the B smallest coins."""
        coins = randomness.uniform(records, "batch", round, agent)
        return np.sort(np.argsort(coins, kind="stable")[: self.batch_size])


Sampling = Poisson | FixedSize


def _check(batch_size: int, declared: tuple[int, ...]) -> None:
    if type(batch_size) is not int or batch_size < 1:
        raise InputError(
            f"batch must be a whole number of at least 1, not {batch_size}."
        )
    if not declared or min(declared) < 1:
        raise InputError("records must be at least 1 for every agent.")
