"""What an adversary hears: messages at the exit of `Net` that its threat model may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from torch import Tensor

from dpdl.graph import Graph
from dpdl.net import Leaving
from dpdl.privacy.threats import Threat

Edge = tuple[int, int]
Heard = Mapping[str, Mapping[Edge, Tensor]]
"""What was heard in one round: channel -> (source, target) -> row."""


@final
@dataclass(frozen=True)
class Ears:
    """Which messages a threat model may see, when it is after a record of `agent`."""

    threat: Threat
    graph: Graph
    agent: int
    own_noise: bool = True  # whether a coalition knows the noise that its agents drew

    @property
    def coalition(self) -> frozenset[int]:
        """The first K neighbours of the agent, for `neighbours:K`.

        Any choice gives a valid lower bound.
        """
        around = [int(j) for j in self.graph.neighbours(self.agent) if j != self.agent]
        return frozenset(around[: self.threat.neighbours])

    def hears(self, channel: str, source: int, target: int) -> bool:
        """Whether a message on this link is heard; who sees models only hears none."""
        match self.threat.kind:
            case "eavesdropper":
                return True
            case "neighbours":
                return bool({source, target} & self.coalition)
            case _:
                return False

    def sees(self, models: Tensor) -> dict[str, dict[Edge, Tensor]]:
        """The models of all agents after a round, for `final-model`."""
        if self.threat.kind != "final-model":
            return {}
        return {"model": {(j, j): row for j, row in enumerate(models)}}


@final
class Tap:
    """An observer at the exit that keeps what may be heard of a round, until it is taken."""

    def __init__(self, ears: Ears) -> None:
        self._ears = ears
        self._now: dict[str, dict[Edge, Tensor]] = {}

    def __call__(self, leaving: Leaving) -> None:
        """Keep messages; the second one on a link and channel is kept as channel#2, and so on."""
        pairs = zip(leaving.edges.tolist(), leaving.at.tolist(), strict=True)
        for (source, target), at in pairs:
            if self._ears.hears(leaving.channel, source, target):
                room = self._room(leaving.channel, (source, target))
                room[source, target] = leaving.rows[at]

    def _room(self, channel: str, edge: Edge) -> dict[Edge, Tensor]:
        name, count = channel, 1
        while edge in self._now.setdefault(name, {}):
            count += 1
            name = f"{channel}#{count}"
        return self._now[name]

    def take(self) -> dict[str, dict[Edge, Tensor]]:
        """What was heard since the last time."""
        heard, self._now = self._now, {}
        return heard
