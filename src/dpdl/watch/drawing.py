"""The graph of a run as a page draws it: computed once, whatever happens to the run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpdl.graph import Graph
from dpdl.graph.check import Matrix
from dpdl.graph.layout import curves, layout, spacing
from dpdl.keys import generator
from dpdl.records import JsonObject

MOST_EDGES = 4_000
"""More lines than this are a solid disc, which a random selection of them shows as well."""

CROWD = 60
"""More agents than this on one circle would be dots without a colour."""
STEP = 0.085
"""From a circle to the next one inside of it."""


def drawing(graph: Graph) -> JsonObject:
    """Agents as points within -1 to 1, x to the right and y down; all edges as one SVG path."""
    points = _folded(layout(graph)) * (1.0, -1.0)
    pairs = graph.edges[graph.edges[:, 0] < graph.edges[:, 1]]
    if len(pairs) > MOST_EDGES:
        chosen = generator(0, "figure-edges").choice(
            len(pairs), MOST_EDGES, replace=False
        )
        pairs = pairs[chosen]
    return {
        "name": graph.name,
        "agents": graph.N,
        "edges": graph.edge_count,
        "drawn": len(pairs),
        "gap": float(f"{graph.spectral_gap:.4g}"),
        "points": np.round(points, 4).tolist(),
        "room": float(f"{spacing(points):.4g}") if graph.N > 1 else 1.0,
        "path": "".join(map(_path, curves(points, pairs))) if len(pairs) else "",
    }


def _folded(points: Matrix) -> Matrix:
    """A crowded circle as several circles in one another: every agent has room to be seen."""
    around = np.allclose(np.linalg.norm(points, axis=1), 1.0)
    circles = -(-len(points) // CROWD)
    if not around or circles == 1:
        return points
    inwards = STEP * (np.arange(len(points)) % circles)
    return points * (1.0 - inwards)[:, None]


def _path(line: npt.NDArray[np.float64]) -> str:
    """A line, or a curve with one control point: bent edges are parabolas."""
    start, middle, end = line[0], line[len(line) // 2], line[-1]
    if len(line) == 2:
        return f"M{_place(start)}L{_place(end)}"
    control = 2 * middle - (start + end) / 2
    return f"M{_place(start)}Q{_place(control)} {_place(end)}"


def _place(point: npt.NDArray[np.float64]) -> str:
    return f"{point[0]:.3f} {point[1]:.3f}"
