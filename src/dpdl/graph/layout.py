"""Where to draw the agents, so that a picture shows what kind of graph it is."""

from __future__ import annotations

import re

import numpy as np

from dpdl.graph.check import Matrix
from dpdl.graph.matrix import Graph

MOST_FREE = 60
"""A free layout of more agents than this takes seconds and shows a knot; a circle is better."""


def layout(graph: Graph) -> Matrix:
    """One row (x, y) per agent, within -1 to 1: a grid, columns, or a circle, as fits the kind of graph."""
    N, kind = graph.N, graph.name.partition(":")[0]
    sides = re.fullmatch(r"torus:([0-9]+)x([0-9]+)", graph.name)
    if sides and int(sides[1]) * int(sides[2]) == N and min(int(sides[1]), int(sides[2])) > 1:
        return _grid(N, int(sides[2]))
    if kind == "star":
        return np.vstack([np.zeros((1, 2)), _circle(N - 1)])
    if kind == "bipartite" and N % 2 == 0:
        return _columns(N)
    if kind == "bipartite-hub" and N > 2:
        return _hubs(N)
    if kind == "hypercube" and N & (N - 1) == 0:
        # Neighbours in Gray code differ in one binary digit, so the rim of the circle consists of edges.
        places = np.arange(N)
        points = np.empty((N, 2))
        points[places ^ (places >> 1)] = _circle(N)
        return points
    known = kind in ("ring", "path", "complete", "exponential", "erdos-renyi")
    return _circle(N) if known or not 3 < N <= MOST_FREE else _free(graph)


def _circle(N: int) -> Matrix:
    """Clockwise from the top, as on a clock."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(N) / max(N, 1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _grid(N: int, columns: int) -> Matrix:
    places = np.arange(N)
    x, y = places % columns, places // columns
    return np.stack([2 * x / x.max() - 1, 1 - 2 * y / y.max()], axis=1)


def _columns(N: int) -> Matrix:
    """Even agents on the left, odd agents on the right."""
    places = np.arange(N)
    return np.stack([2.0 * (places % 2) - 1.0, 1.0 - 2.0 * (places // 2 + 0.5) / (N // 2)], axis=1)


def _hubs(N: int) -> Matrix:
    """Agents 0 and 1 left and right, the others between them, in a zigzag where one column is too tight."""
    points = np.zeros((N, 2))
    points[:2, 0] = [-1.0, 1.0]
    others = np.arange(N - 2)
    points[2:, 0] = np.where(others % 2, 0.12, -0.12) if N > 14 else 0.0
    points[2:, 1] = 1.0 - 2.0 * (others + 0.5) / (N - 2)
    return points


def _free(graph: Graph) -> Matrix:
    """Distances on paper follow distances in the graph (Kamada and Kawai), without a seed."""
    import networkx

    drawing = networkx.Graph()
    drawing.add_nodes_from(range(graph.N))
    drawing.add_edges_from(graph.edges[graph.edges[:, 0] < graph.edges[:, 1]].tolist())
    points = networkx.kamada_kawai_layout(drawing)
    placed = np.array([points[i] for i in range(graph.N)], dtype=np.float64)
    low, high = placed.min(axis=0), placed.max(axis=0)
    return 2 * (placed - (low + high) / 2) / max(float((high - low).max()), 1e-9)
