"""Where to draw the agents, so that a picture shows what kind of graph it is."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from dpdl.graph.check import Matrix, Pattern
from dpdl.graph.matrix import Graph

MOST_FREE = 60
"""A free layout of more agents than this takes seconds and shows a knot; a circle is better."""


def layout(graph: Graph) -> Matrix:
    """One row (x, y) per agent, within -1 to 1: a grid, columns or a circle, by kind of graph."""
    N, kind = graph.N, graph.name.partition(":")[0]
    sides = _sides(graph)
    if sides:
        return _grid(*sides)
    if kind == "star":
        return np.vstack([np.zeros((1, 2)), _circle(N - 1)])
    if kind == "bipartite" and N % 2 == 0:
        return _columns(N)
    if kind == "bipartite-hub" and N > 2:
        return _hubs(N)
    if kind == "hypercube" and N & (N - 1) == 0:
        return _gray_circle(N)
    known = kind in ("ring", "path", "complete", "exponential", "erdos-renyi")
    few = 3 < N <= MOST_FREE
    return _free(graph) if few and not known else _circle(N)


def _sides(graph: Graph) -> tuple[int, int] | None:
    """Rows and columns of a torus whose name fits its number of agents."""
    found = re.fullmatch(r"torus:([0-9]+)x([0-9]+)", graph.name)
    if not found:
        return None
    rows, columns = int(found[1]), int(found[2])
    fits = rows * columns == graph.N and min(rows, columns) > 1
    return (rows, columns) if fits else None


def _circle(N: int) -> Matrix:
    """Clockwise from the top, as on a clock."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(N) / max(N, 1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _gray_circle(N: int) -> Matrix:
    """Neighbours in Gray code differ in one binary digit, so the rim of the circle is edges."""
    places = np.arange(N)
    gray = places ^ (places >> 1)
    points = np.empty((N, 2))
    points[gray] = _circle(N)
    return points


def _grid(rows: int, columns: int) -> Matrix:
    places = np.arange(rows * columns)
    x = places % columns
    y = places // columns
    right = 2 * x / (columns - 1) - 1
    down = 2 * y / (rows - 1) - 1
    return np.stack([right, -down], axis=1)


def _columns(N: int) -> Matrix:
    """Even agents on the left, odd agents on the right."""
    places = np.arange(N)
    x = 2.0 * (places % 2) - 1.0
    row = places // 2
    y = 1.0 - 2.0 * (row + 0.5) / (N // 2)
    return np.stack([x, y], axis=1)


def _hubs(N: int) -> Matrix:
    """Agents 0 and 1 left and right, the others between: one column, or a zigzag of many."""
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
    return np.asarray(2 * (placed - (low + high) / 2) / (high - low))


def spacing(points: Matrix) -> float:
    """How close the agents stand: four in five have no other agent nearer than this."""
    # Thousands of agents are drawn as dots; the first ones decide how large a dot may be.
    some = points[:2000]
    x, y = some[:, 0], some[:, 1]
    squared = np.subtract.outer(x, x) ** 2 + np.subtract.outer(y, y) ** 2
    np.fill_diagonal(squared, 4.0)
    nearest = squared.min(axis=1)
    return float(np.sqrt(np.quantile(nearest, 0.2)))


def curves(points: Matrix, pairs: npt.NDArray[np.int64]) -> Matrix:
    """Each edge as a polyline (edges, steps, 2), bent where it would hit a third agent."""
    start, end = points[pairs[:, 0]], points[pairs[:, 1]]
    apart = spacing(points)
    bend = np.zeros(len(pairs))
    if len(pairs) * len(points) <= 200_000:
        bend[_blocked(points, start, end, apart / 4)] = 0.7 * apart
    along, middle = end - start, (start + end) / 2
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    side = across / np.linalg.norm(along, axis=1, keepdims=True)
    inwards = np.where((side * middle).sum(axis=1) > 1e-9, -1.0, 1.0)
    control = middle + side * (inwards * bend)[:, None]
    t = np.linspace(0.0, 1.0, 25 if bend.any() else 2)[:, None, None]
    line = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return np.asarray(np.swapaxes(line, 0, 1), dtype=np.float64)


def _blocked(points: Matrix, start: Matrix, end: Matrix, radius: float) -> Pattern:
    """Which lines pass within `radius` of an agent that is neither their start nor their end."""
    along = end - start
    offset = points - start[:, None]
    t = (offset * along[:, None]).sum(axis=2) / (along**2).sum(axis=1)[:, None]
    distance = np.linalg.norm(offset - t[:, :, None] * along[:, None], axis=2)
    inside = (t > 1e-6) & (t < 1 - 1e-6)
    return np.asarray((inside & (distance < radius)).any(axis=1))
