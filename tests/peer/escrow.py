"""All agents in one process with the secrets of peers: what the peers' bits are compared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from dpdl.privacy.sealed import KEY_BYTES, Sealed

Secrets = Callable[[int, int], bytes]
"""From an agent and a round to the agent's secret of that round."""
LinksOfRound = Callable[[int], Mapping[tuple[int, int], bytes]]
"""From a round to the keys of all links in it, by their two ends, the lower one first."""


def no_links(t: int) -> Mapping[tuple[int, int], bytes]:
    """Where no noise is shared."""
    return {}


class Escrowed:
    """Gives every agent exactly the numbers that its own `Sealed` would give it.

    A batch is drawn from the secret of its agent, and the noise of an answer from that of its host.
    """

    repeatable = False

    def __init__(self, secrets: Secrets, links: LinksOfRound = no_links) -> None:
        self._secrets = secrets
        self._keys = links
        self._agents: dict[tuple[int, int], Sealed] = {}
        self._links: dict[int, Sealed] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "Escrowed()"

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """`where` is a round and an agent."""
        t, agent = where
        return self._of(agent, t).uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """`where` is a round, who asked, and the host."""
        t, _, host = where
        self._of(host, t).perturb(row, std, purpose, *where, into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """Both ends draw from the key of the link; their own secrets have no part in it."""
        end = self._ends(where[0])
        end.pair(row, std, own, purpose, *where, into=into)

    def _of(self, agent: int, t: int) -> Sealed:
        with self._lock:
            if (agent, t) not in self._agents:
                self._agents[agent, t] = begun(self._secrets(agent, t))
            return self._agents[agent, t]

    def _ends(self, t: int) -> Sealed:
        with self._lock:
            if t not in self._links:
                self._links[t] = begun(bytes(KEY_BYTES), self._keys(t))
            return self._links[t]


def begun(
    secret: bytes, links: Mapping[tuple[int, int], bytes] | None = None
) -> Sealed:
    """The randomness of a round."""
    made = Sealed()
    made.begin(secret, links)
    return made
