"""Who talks to whom, and with which weight.

A `Graph` holds the mixing matrix W: symmetric, doubly stochastic and connected, or it does not
construct. `build` makes a graph from the text of a command line; `ring(10)`, `complete(10)`, ...
serve in a notebook.
"""

from dpdl.graph.facts import GraphFacts, describe
from dpdl.graph.files import from_file
from dpdl.graph.matrix import Graph
from dpdl.graph.named import (
    GRAPHS,
    bipartite,
    bipartite_hub,
    build,
    complete,
    erdos_renyi,
    exponential,
    hypercube,
    path,
    ring,
    star,
    torus,
)
from dpdl.graph.networks import from_networkx
from dpdl.graph.weights import WEIGHTS

__all__ = [
    "GRAPHS",
    "WEIGHTS",
    "Graph",
    "GraphFacts",
    "bipartite",
    "bipartite_hub",
    "build",
    "complete",
    "describe",
    "erdos_renyi",
    "exponential",
    "from_file",
    "from_networkx",
    "hypercube",
    "path",
    "ring",
    "star",
    "torus",
]
