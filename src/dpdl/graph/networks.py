"""A graph of networkx as a graph of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpdl.errors import InputError
from dpdl.graph.matrix import Graph
from dpdl.graph.weights import weigh

if TYPE_CHECKING:
    import networkx


def from_networkx(
    network: networkx.Graph, weights: str = "metropolis", seed: int = 0
) -> Graph:
    """The nodes as agents, in their order, and a rule for the weights; self-loops mean nothing.

    A directed graph is refused: agents that talk to each other do so both ways. Numbers at the
    edges are not used.
    """
    if network.is_directed() or network.is_multigraph():
        kind = type(network).__name__
        raise InputError(
            f"A graph must be undirected, with one edge between two agents, not a {kind}; "
            "networkx.Graph(...) makes one of it."
        )
    if not len(network):
        raise InputError("A graph must have at least one agent.")
    number = {node: k for k, node in enumerate(network.nodes)}
    pattern = np.zeros((len(number), len(number)), dtype=bool)
    for one, other in network.edges:
        i, j = number[one], number[other]
        pattern[i, j] = pattern[j, i] = i != j
    return Graph(weigh(pattern, weights, seed), str(network.name) or "networkx")


def is_network(value: object) -> bool:
    """Whether an object is a graph of networkx, which is not imported to find out."""
    return any(
        kind.__module__.partition(".")[0] == "networkx" and kind.__name__ == "Graph"
        for kind in type(value).__mro__
    )
