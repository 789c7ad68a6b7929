"""Pictures of graphs, partitions and training, as PNG, SVG or PDF files.

Each picture has a pure function that builds the matplotlib `Figure` (for notebooks and tests) and one that draws
it into a file. Nothing here touches matplotlib's global state. Colours are from Okabe and Ito's palette, which
stays readable without colour vision; every shade also differs in brightness.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.graph.layout import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, INK, SOFT, PALE = "#0072B2", "#D55E00", "#222222", "#6B7280", "#E5E7EB"
SHADES = ("#B9D3E6", "#08306B")
FORMATS = (".png", ".svg", ".pdf")
DPI = 150
MOST_EDGES = 20_000
"""More lines than this make a grey disc and a file nobody can open; an even selection shows the same."""

Points = npt.NDArray[np.float64]


def draw_graph(graph: Graph, path: str | Path) -> Path:
    """Write the picture of `graph_figure`."""
    return save(graph_figure(graph), path)


def draw_partition(counts: npt.ArrayLike, path: str | Path, title: str) -> Path:
    """Write the picture of `partition_figure`."""
    return save(partition_figure(counts, title), path)


def draw_training(metrics: Sequence[dict[str, Any]], path: str | Path, title: str) -> Path:
    """Write the picture of `training_figure`."""
    return save(training_figure(metrics, title), path)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the suffix; a reader never sees half a file."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"A figure must be named PATH.png, PATH.svg or PATH.pdf, not {str(path)!r}.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        figure.savefig(part, format=suffix[1:], dpi=DPI, metadata=dated.get(suffix))
        part.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"The figure {str(path)!r} cannot be written ({reason}).") from None
    finally:
        _remove(part)
    return path


def _remove(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return


def graph_figure(graph: Graph) -> Figure:
    """Agents as numbered circles; an edge is the wider and darker the larger its weight."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7.4), facecolor="white")
    axes = figure.add_axes((0.04, 0.02, 0.92, 0.87))
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    axes.axis("off")
    points = layout(graph)
    apart = _nearest(points)
    drawn = _draw_edges(axes, graph, points, apart)
    # One unit of the layout is about 196 points on paper; circles must not touch.
    wide = float(np.clip(0.7 * apart * 196, 2, 27))
    axes.scatter(*points.T, s=wide**2, c="white", edgecolors=BLUE, linewidths=min(1.6, wide / 5), zorder=3)
    if wide >= 10:
        for agent, (x, y) in enumerate(points):
            axes.text(x, y, str(agent), size=0.42 * wide, color=INK, ha="center", va="center_baseline", zorder=4)
    _title(figure, graph.name, _summary(graph, drawn))
    return figure


def _summary(graph: Graph, drawn: int) -> str:
    agents = "1 agent" if graph.N == 1 else f"{graph.N:,} agents"
    edges = "1 edge" if graph.edge_count == 1 else f"{graph.edge_count:,} edges"
    some = f" ({drawn:,} drawn)" if drawn < graph.edge_count else ""
    return f"{agents}, {edges}{some}, spectral gap {graph.spectral_gap:.3g}"


def _nearest(points: Points) -> float:
    """The distance of the two closest agents; of the first ones only when there are thousands."""
    some = points[:2000]
    squared = ((some[:, None] - some) ** 2).sum(axis=2)
    np.fill_diagonal(squared, 4.0)
    return float(np.sqrt(squared.min()))


def _draw_edges(axes: Axes, graph: Graph, points: Points, apart: float) -> int:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    pairs = graph.edges[graph.edges[:, 0] < graph.edges[:, 1]]
    if len(pairs) == 0:
        return 0
    pairs = pairs[:: -(-len(pairs) // MOST_EDGES)]
    weight = graph.W[pairs[:, 0], pairs[:, 1]]
    pairs, weight = pairs[np.argsort(weight, kind="stable")], np.sort(weight)
    low, high = float(weight[0]), float(weight[-1])
    equal = high - low < 1e-9
    share = np.full(len(weight), 0.5) if equal else (weight - low) / (high - low)
    thin = float(np.clip(np.sqrt(150 / len(pairs)), 0.08, 1))
    shades = LinearSegmentedColormap.from_list("weight", SHADES)
    lines = LineCollection(
        list(_curves(points, pairs, apart)),
        colors=shades(share),
        linewidths=thin * (0.8 + 2.4 * share),
        zorder=1,
        rasterized=len(pairs) > 2000,
    )
    axes.add_collection(lines)
    if equal:
        axes.text(1.15, -1.13, f"every edge weighs {low:.3g}", size=9, color=SOFT, ha="right")
    else:
        lines.set(cmap=shades, norm=Normalize(low, high))
        inset = axes.inset_axes((0.68, 0.0, 0.3, 0.015))
        bar = axes.figure.colorbar(lines, cax=inset, orientation="horizontal")
        bar.set_label("weight", size=9, color=SOFT)
    return len(pairs)


def _curves(points: Points, pairs: npt.NDArray[np.int64], apart: float) -> Points:
    """Each edge as a polyline: straight, or bent where a straight line would run through a third agent."""
    start, end = points[pairs[:, 0]], points[pairs[:, 1]]
    bend = np.zeros(len(pairs))
    if len(pairs) * len(points) <= 200_000:
        bend[_hits(points, start, end, apart)] = 0.7 * apart
    along = end - start
    side = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    control = (start + end) / 2 + side * bend[:, None]
    t = np.linspace(0, 1, 25 if bend.any() else 2)[:, None, None]
    return np.swapaxes((1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end, 0, 1)
