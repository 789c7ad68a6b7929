"""Which pairs of agents have a secret: a graph of its own, beside that of the messages.

    complete    every pair
    regular:K   a random graph in which every agent has K secrets; the same for every run
    links       the pairs that send each other messages

The noise of a pair is drawn from a key that both have, so no message is needed for it and the pair
need not be linked. From the graph of secrets alone follows who is hidden from whom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from dpdl.algorithms.coalitions import against_all
from dpdl.algorithms.disclosure import AS_EAVESDROPPER, EveryRound
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.options import Check
from dpdl.privacy.threats import EAVESDROPPER, Threat

Pairs = npt.NDArray[np.bool_]
"""Symmetric, (N, N): whether two agents have a secret."""
MANY = 100
"""Up to so many agents every pair has a secret, unless another graph is asked for."""
BEYOND = "regular:32"
"""The graph of secrets of more agents."""
ENOUGH = 1.01
"""N times the exposure that the default correlation stays below; 1 is that of a trusted server."""
MOST_COUNTED = 1e4
"""A larger correlation is counted as this one: it hides no less, and rounding would say what."""
_REGULAR = re.compile(r"regular:([1-9]\d{0,3})")
SECRETS = Check(
    lambda text: text in ("complete", "links") or bool(_REGULAR.fullmatch(text)),
    "complete, links or regular:K with a whole number K",
)


@lru_cache(maxsize=64)
def pairs_of(words: str | None, graph: Graph) -> Pairs:
    """The pairs of agents that have a secret."""
    agents = len(graph)
    words = words or ("complete" if agents <= MANY else BEYOND)
    if words == "complete":
        found = ~np.eye(agents, dtype=bool)
    elif words == "links":
        found = (graph.W > 0) & ~np.eye(agents, dtype=bool)
    else:
        found = regular(agents, int(words.partition(":")[2]))
    found.flags.writeable = False
    return found


def regular(agents: int, degree: int) -> Pairs:
    """A random connected graph in which all have `degree` neighbours; a function of both numbers.

    From a regular graph on a circle, edges change partners many times, which keeps all degrees.
    """
    if not 2 <= degree < agents or agents * degree % 2:
        raise InputError(
            f"secrets 'regular:{degree}' needs 2 to {agents - 1} secrets of each of {agents} "
            "agents, and an even number in all."
        )
    draw = generator(0, "secrets", agents, degree)
    found = np.zeros((agents, agents), bool)
    at = np.arange(agents)
    for step in range(1, degree // 2 + 1):
        found[at, (at + step) % agents] = found[(at + step) % agents, at] = True
    if degree % 2:
        found[at, (at + agents // 2) % agents] = True
    while not _shuffle(found, draw):
        pass
    return found


def _shuffle(found: Pairs, draw: np.random.Generator) -> bool:
    """Exchange partners of random edges; whether the graph is connected then."""
    edges = np.argwhere(np.triu(found))
    for _ in range(20 * len(edges)):
        p, q = draw.integers(len(edges), size=2)
        (a, b), (c, d) = edges[p], edges[q][:: 1 if draw.integers(2) else -1]
        if len({a, b, c, d}) < 4 or found[a, d] or found[c, b]:
            continue
        found[[a, b, c, d], [b, a, d, c]] = False
        found[[a, d, c, b], [d, a, b, c]] = True
        edges[p], edges[q] = (a, d), (c, b)
    return bool(np.linalg.eigvalsh(_laplacian(found))[1] > 1e-6)


def _laplacian(pairs: Pairs) -> npt.NDArray[np.float64]:
    links = pairs.astype(np.float64)
    found: npt.NDArray[np.float64] = np.diag(links.sum(axis=1)) - links
    return found


def is_complete(pairs: Pairs) -> bool:
    """Whether every pair has a secret."""
    return int(pairs.sum()) == len(pairs) * (len(pairs) - 1)


def most_secrets(pairs: Pairs) -> int:
    """The largest number of secrets of an agent."""
    return int(pairs.sum(axis=1).max())


@lru_cache(maxsize=64)
def enough_correlation(words: str | None, graph: Graph) -> float:
    """The smallest c, of two digits, with N times the exposure below `ENOUGH` for all agents.

    The exposure is that against an eavesdropper, max_i ((I + c^2 L)^-1)_ii with the Laplacian L of
    the graph of secrets. It falls when c grows.
    """
    pairs = pairs_of(words, graph)
    if len(pairs) == 1:
        return 0.0
    values, vectors = np.linalg.eigh(_laplacian(pairs))
    shares = vectors**2

    def enough(c: float) -> bool:
        exposures = shares @ (1 / (1 + c * c * values.clip(0)))
        return bool(len(pairs) * exposures.max() < ENOUGH)

    decades = next(k for k in range(-2, 12) if enough(10.0**k)) - 1
    tenths = range(10, 101)
    return float(
        next(f"{n}e{decades - 1}" for n in tenths if enough(n * 10.0 ** (decades - 1)))
    )


@final
@dataclass(frozen=True)
class SecretNoise(EveryRound):
    """One perturbed gradient per agent, with noise that cancels between pairs that have a secret.

    Everything that leaves is computed from the perturbed gradients of all agents, so a listener is
    given all of them. What it does not know of their noise has, entry by entry, the covariance
    sigma^2 (I + c^2 L): L is the Laplacian of the secrets that it lacks. A record moves one of them
    by at most C / B, so it is as well hidden as in one release with sigma_eff^-2 =
    ((I + c^2 L)^-1)_ii sigma^-2.

    A coalition knows the secrets of all its pairs, wherever its agents are, so L is that of the
    graph of secrets without it. With n agents left and all their pairs secret, the exposure is
    1 / n + (1 - 1 / n) / (1 + c^2 n).
    """

    secrets: str | None
    correlation: float | None  # c; None: enough

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """Against the worst coalition of so many agents, wherever they are."""
        k = threat.neighbours if threat.kind == "neighbours" else 0
        return float(_exposures(self, graph, k)[agent])

    def proof(self, threat: Threat) -> str:
        """Exact for who has no secret: the first message of a round is the perturbed gradient."""
        if threat.kind == "neighbours":
            return (
                "upper bound: Laplacian of secrets outside the worst K anywhere, who hear "
                "everything as well"
            )
        if threat != EAVESDROPPER:
            return AS_EAVESDROPPER
        return "exact: Laplacian of the graph of secrets"


@lru_cache(maxsize=4096)
def _exposures(noise: SecretNoise, graph: Graph, k: int) -> npt.NDArray[np.float64]:
    """Of every agent, against the worst k others."""
    pairs = pairs_of(noise.secrets, graph)
    c = noise.correlation
    if c is None:
        c = enough_correlation(noise.secrets, graph)
    c = min(c, MOST_COUNTED)
    agents = len(pairs)
    if k >= agents - 1:
        return np.ones(agents)
    if is_complete(pairs):
        left = agents - k
        return np.full(agents, 1 / left + (1 - 1 / left) / (1 + c * c * left))
    found = against_all(agents, k, lambda left: _hidden(pairs[np.ix_(left, left)], c))
    return np.full(agents, _bound(pairs, c, k)) if found is None else found


def _hidden(pairs: Pairs, c: float) -> npt.NDArray[np.float64]:
    """Of every agent, where all the others' secrets are unknown: ((I + c^2 L)^-1)_ii."""
    found = np.linalg.inv(np.eye(len(pairs)) + c * c * _laplacian(pairs))
    return np.asarray(found.diagonal(), np.float64)


def _bound(pairs: Pairs, c: float, k: int) -> float:
    """An upper bound for all agents and all coalitions of k.

    Without J, n = N - k agents are left, and for x on them with sum 0, extended by zeros, x' L_J x
    = x' L x - sum_j |secrets of j in J| x_j^2 >= (mu - k) |x|^2, where mu is the second smallest
    eigenvalue of L. So all eigenvalues of L_J on such x are at least mu - k, and the unit vector of
    an agent has 1 / n of its square outside of them.
    """
    mu = float(np.linalg.eigvalsh(_laplacian(pairs))[1])
    left = len(pairs) - k
    return 1 / left + (1 - 1 / left) / (1 + c * c * max(0.0, mu - k))
