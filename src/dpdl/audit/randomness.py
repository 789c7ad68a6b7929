"""Streams under other names, for runs that are repeated, and streams that some agents know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from torch import Tensor

from dpdl.audit.ears import Edge
from dpdl.privacy.noise import Randomness, Reproducible


@final
@dataclass(frozen=True)
class Renamed:
    """Another randomness, whose streams have another name: the same code draws other numbers."""

    inside: Randomness
    name: str

    @property
    def repeatable(self) -> bool:
        """As it was."""
        return self.inside.repeatable

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """The renamed stream."""
        return self.inside.uniform(count, f"{purpose}, {self.name}", *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """The renamed stream."""
        self.inside.perturb(row, std, f"{purpose}, {self.name}", *where, into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """The renamed stream."""
        self.inside.pair(row, std, own, f"{purpose}, {self.name}", *where, into=into)


def at_home(randomness: Randomness, name: str) -> Randomness:
    """For a rehearsal: repeatable, and never the numbers of the run that is attacked."""
    return Renamed(randomness if randomness.repeatable else Reproducible(0), name)


@final
@dataclass(frozen=True)
class OwnNoise:
    """Another randomness, of which agents that work together keep the noise that they draw."""

    inside: Randomness
    agents: frozenset[int]
    # By purpose, then by (asker, host) or link.
    known: dict[str, dict[Edge, Tensor]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"OwnNoise({self.inside!r}, of {len(self.agents)} agents)"

    @property
    def repeatable(self) -> bool:
        """As it was."""
        return self.inside.repeatable

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """Batches stay secret."""
        return self.inside.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """The last number is that of the agent that draws."""
        known = where[-1] in self.agents
        before = row.clone() if known else row  # `into` may be the same memory
        self.inside.perturb(row, std, purpose, *where, into=into)
        if known:
            self._note(purpose, where, (into - before) / std)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """Both ends of a link draw its noise, with opposite signs."""
        known = not self.agents.isdisjoint(where[1:])
        before = row.clone() if known else row
        self.inside.pair(row, std, own, purpose, *where, into=into)
        if known:
            self._note(purpose, where, (into - before) / std)

    def _note(self, purpose: str, where: tuple[int, ...], drawn: Tensor) -> None:
        _, i, j = where
        self.known.setdefault(purpose, {})[i, j] = drawn

    def take(self) -> dict[str, dict[Edge, Tensor]]:
        """The noise since the last time, in one order whatever the order of the draws."""
        found = {
            f"{purpose} of their own": dict(sorted(of.items()))
            for purpose, of in sorted(self.known.items())
        }
        self.known.clear()
        return found
