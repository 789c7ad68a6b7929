"""The epsilons of a run: what Theorem 1 claims, and what is proven against each listener."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.threats import Threat
from dpdl.records import Record, others

CLAIMED = "claimed_theorem1"


@final
@dataclass(frozen=True)
class Epsilons(Record):
    """One claim, which is no guarantee, and one proven epsilon per threat model.

    The claim is unknown where the theorem is not about the algorithm.
    """

    claimed_theorem1: Epsilon = UNKNOWN
    proven: Mapping[str, Epsilon] = others()  # by the key of the threat

    def against(self, threat: Threat) -> Epsilon:
        """What is proven against a threat; unknown if nobody computed it."""
        return self.proven.get(threat.key, UNKNOWN)

    def items(self) -> Iterator[tuple[str, Epsilon]]:
        """The claim and all proven ones, by their key in JSON."""
        yield CLAIMED, self.claimed_theorem1
        yield from self.proven.items()
