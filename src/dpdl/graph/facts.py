"""The numbers of a graph, as `dpdl graph --json` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpdl.graph.matrix import Graph
from dpdl.records import Record


@final
@dataclass(frozen=True)
class Degrees(Record):
    """The fewest and the most neighbours that an agent has, itself not counted."""

    min: int
    max: int


@final
@dataclass(frozen=True)
class GraphFacts(Record):
    """A graph in numbers; `edges` are undirected, without self-loops."""

    name: str
    agents: int
    edges: int
    spectral_gap: float
    rho: float
    degree: Degrees
    weights: tuple[tuple[float, ...], ...]


def describe(graph: Graph) -> GraphFacts:
    """The numbers of a graph."""
    return GraphFacts(
        name=graph.name,
        agents=graph.N,
        edges=graph.edge_count,
        spectral_gap=graph.spectral_gap,
        rho=graph.rho,
        degree=Degrees(int(graph.degrees.min()), int(graph.degrees.max())),
        weights=tuple(tuple(row) for row in graph.W.tolist()),
    )
