"""Graphs by name: one function each for notebooks, and `build` for a command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite, log
from pathlib import Path

from dpdl.errors import InputError, unknown
from dpdl.graph import patterns
from dpdl.graph.check import Pattern, agents_count
from dpdl.graph.files import from_file
from dpdl.graph.matrix import Graph
from dpdl.graph.weights import weigh

_PATTERNS: dict[str, tuple[Callable[[int], Pattern], int]] = {
    "ring": (patterns.ring, 2),
    "path": (patterns.path, 2),
    "complete": (patterns.complete, 1),
    "star": (patterns.star, 2),
    "bipartite": (patterns.bipartite, 2),
    "bipartite-hub": (patterns.bipartite_hub, 3),
    "hypercube": (patterns.hypercube, 2),
    "exponential": (patterns.exponential, 2),
}
GRAPHS = (*_PATTERNS, "torus", "erdos-renyi")


def _plain(name: str, agents: int, weights: str, seed: int) -> Graph:
    pattern, smallest = _PATTERNS[name]
    return Graph(
        weigh(pattern(agents_count(agents, smallest, name)), weights, seed), name
    )


def ring(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Agent i talks to i - 1 and i + 1, the last to the first; two agents share one edge."""
    return _plain("ring", agents, weights, seed)


def path(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """A ring without the edge from the last agent to the first."""
    return _plain("path", agents, weights, seed)


def complete(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Everybody talks to everybody; one agent alone is allowed."""
    return _plain("complete", agents, weights, seed)


def star(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Everybody talks to agent 0 and to nobody else."""
    return _plain("star", agents, weights, seed)


def bipartite(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Every even agent talks to every odd agent; an odd number of agents is refused."""
    return _plain("bipartite", agents, weights, seed)


def bipartite_hub(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Agents 0 and 1 talk to all others, and no others talk to each other: K_{2,N-2}."""
    return _plain("bipartite-hub", agents, weights, seed)


def hypercube(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Agents talk when their numbers differ in one binary digit; N is a power of two."""
    return _plain("hypercube", agents, weights, seed)


def exponential(agents: int, weights: str = "metropolis", seed: int = 0) -> Graph:
    """Agent i talks to i ± 2^k (mod N) for every 2^k < N."""
    return _plain("exponential", agents, weights, seed)


def torus(
    agents: int,
    weights: str = "metropolis",
    seed: int = 0,
    sides: tuple[int, int] | None = None,
) -> Graph:
    """A grid whose borders are joined; `sides` are (rows, columns), by default the most square."""
    N = agents_count(agents, 4, "torus")
    rows, columns = patterns.torus_sides(N) if sides is None else sides
    if rows < 2 or columns < 2 or rows * columns != N:
        raise InputError(
            f"Graph 'torus:{rows}x{columns}' needs at least 2 rows and 2 columns that hold "
            f"all agents, but agents = {N}."
        )
    return Graph(
        weigh(patterns.torus(rows, columns), weights, seed), f"torus:{rows}x{columns}"
    )


def erdos_renyi(
    agents: int,
    weights: str = "metropolis",
    seed: int = 0,
    probability: float | None = None,
) -> Graph:
    """Every pair talks with `probability`, by default 2 ln(N)/N; redrawn until connected."""
    N = agents_count(agents, 2, "erdos-renyi")
    p = min(1.0, 2 * log(N) / N) if probability is None else probability
    if not isfinite(p) or not 0 < p <= 1:
        raise InputError(
            f"The probability of an edge must be above 0 and at most 1, not {p}."
        )
    name = "erdos-renyi" if probability is None else f"erdos-renyi:{p}"
    return Graph(weigh(patterns.erdos_renyi(N, p, seed), weights, seed), name)


def build(
    spec: str, agents: int | None = None, weights: str = "metropolis", seed: int = 0
) -> Graph:
    """The graph of a command line: a name, `torus:3x4`, `erdos-renyi:0.3`, or a file.

    A file knows its number of agents, so `agents` may be None there; given, it must agree. The seed
    matters to `erdos-renyi` and to the weights `sinkhorn` only.
    """
    name, colon, argument = spec.partition(":")
    if name not in GRAPHS:
        if _looks_like_file(spec):
            return from_file(spec, agents, weights, seed)
        raise unknown(
            "graph",
            spec,
            GRAPHS,
            "torus:ROWSxCOLUMNS, erdos-renyi:PROBABILITY, or a file",
        )
    if agents is None:
        raise InputError(f"Graph {spec!r} needs the number of agents.")
    if name == "torus":
        return torus(agents, weights, seed, _sides(argument) if colon else None)
    if name == "erdos-renyi":
        return erdos_renyi(
            agents, weights, seed, _probability(argument) if colon else None
        )
    if colon:
        raise InputError(
            f"Graph {name!r} takes nothing after a colon, but {spec!r} was given."
        )
    return _plain(name, agents, weights, seed)


def _looks_like_file(spec: str) -> bool:
    try:
        # A misspelt "erdos-reny:0.3" ends like a file with an extension, but it is none.
        ending = Path(spec).suffix if ":" not in spec else ""
        return bool(ending) or "/" in spec or "\\" in spec or Path(spec).is_file()
    except OSError:
        return False


def _sides(argument: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", argument)
    if not found:
        raise InputError(
            "A torus is written torus:ROWSxCOLUMNS, for instance torus:3x4, not "
            f"'torus:{argument}'."
        )
    return int(found[1]), int(found[2])


def _probability(argument: str) -> float:
    try:
        return float(argument)
    except ValueError:
        raise InputError(
            f"A random graph is written erdos-renyi:PROBABILITY, for instance erdos-renyi:0.3, "
            f"not 'erdos-renyi:{argument}'."
        ) from None
