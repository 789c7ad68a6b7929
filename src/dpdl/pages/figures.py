"""Pictures of graphs and partitions, as PNG, SVG or PDF files.

Each picture has a pure function that builds the matplotlib `Figure` (for notebooks and tests) and
one that draws it into a file. Nothing here touches matplotlib's global state. The colours are Okabe
and Ito's, which stay apart for colour-blind readers, and shades differ in brightness.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.graph.layout import curves, layout, spacing
from dpdl.keys import generator
from dpdl.pages.glyphs import make_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#D55E00"
INK, SOFT, PALE, PAPER = "#222222", "#6B7280", "#E5E7EB", "#F1F7FB"
SHADES = ("#B9D3E6", "#08306B")
FORMATS = (".png", ".svg", ".pdf")
DPI = 150
MOST_EDGES = 6_000
"""More lines than this make a solid disc and a huge file; a random selection shows the same
shape."""

Points = npt.NDArray[np.float64]


def draw_graph(graph: Graph, path: str | Path) -> Path:
    """Write the picture of `graph_figure`."""
    return save(graph_figure(graph), path)


def draw_partition(counts: npt.ArrayLike, path: str | Path, title: str) -> Path:
    """Write the picture of `partition_figure`."""
    return save(partition_figure(counts, title), path)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the suffix; a reader never sees half a file."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"A figure must be named PATH.png, PATH.svg or PATH.pdf, not {str(path)!r}."
        )
    make_drawable(figure)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        figure.savefig(part, format=suffix[1:], dpi=DPI, metadata=dated.get(suffix))
        part.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"The figure {str(path)!r} cannot be written ({reason})."
        ) from None
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
    axes = figure.add_axes((0.05, 0.06, 0.9, 0.85))
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    axes.axis("off")
    points = layout(graph)
    drawn = _draw_edges(axes, graph, points)
    # One unit of the layout is about 196 points on paper; circles must not touch.
    room = 196 * spacing(points)
    wide = float(np.clip(0.7 * room if room > 14 else 0.45 * room, 2, 27))
    x, y = points.T
    axes.scatter(
        x,
        y,
        s=wide**2,
        c=PAPER,
        edgecolors=BLUE,
        linewidths=min(1.6, wide / 5),
        zorder=3,
    )
    if room > 14:
        for agent, (x, y) in enumerate(points):
            axes.text(
                x,
                y,
                str(agent),
                size=0.42 * wide,
                color=INK,
                ha="center",
                va="center_baseline",
                zorder=4,
            )
    _title(figure, graph.name, _summary(graph, drawn))
    return figure


def _summary(graph: Graph, drawn: int) -> str:
    agents = "1 agent" if graph.N == 1 else f"{graph.N:,} agents"
    edges = "1 edge" if graph.edge_count == 1 else f"{graph.edge_count:,} edges"
    some = f" ({drawn:,} drawn)" if drawn < graph.edge_count else ""
    return f"{agents}, {edges}{some}, spectral gap {graph.spectral_gap:.3g}"


def _draw_edges(axes: Axes, graph: Graph, points: Points) -> int:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    pairs = graph.edges[graph.edges[:, 0] < graph.edges[:, 1]]
    if len(pairs) == 0:
        return 0
    if len(pairs) > MOST_EDGES:
        pairs = pairs[
            generator(0, "figure-edges").choice(len(pairs), MOST_EDGES, replace=False)
        ]
    weight = graph.W[pairs[:, 0], pairs[:, 1]]
    pairs, weight = pairs[np.argsort(weight, kind="stable")], np.sort(weight)
    low, high = float(weight[0]), float(weight[-1])
    equal = high - low < 1e-9
    share = np.full(len(weight), 0.5) if equal else (weight - low) / (high - low)
    thin = float(np.clip(np.sqrt(60 / len(pairs)), 0.12, 1))
    shades = LinearSegmentedColormap.from_list("weight", SHADES)
    lines = LineCollection(
        list(curves(points, pairs)),
        colors=shades(share),
        linewidths=thin * (0.8 + 2.4 * share),
        alpha=max(0.25, thin**0.5) if len(pairs) > 2 * graph.N else 1.0,
        zorder=1,
        rasterized=len(pairs) > 2000,
    )
    axes.add_collection(lines)
    if equal:
        axes.text(
            1.15, -1.17, f"every edge weighs {low:.3g}", size=9, color=SOFT, ha="right"
        )
    else:
        lines.set(cmap=shades, norm=Normalize(low, high))
        inset = axes.inset_axes((0.7, -0.01, 0.3, 0.013))
        bar = axes.figure.colorbar(lines, cax=inset, orientation="horizontal")
        bar.set_label("weight", size=9, color=SOFT)
        bar.outline.set_visible(False)
        inset.tick_params(labelsize=8, colors=SOFT, length=2)
    return len(pairs)


def partition_figure(counts: npt.ArrayLike, title: str) -> Figure:
    """Records of each class (down) at each agent (across), with each agent's total above.

    `counts[i, c]` is the number of records of class c that agent i holds: one row per agent.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    table = _counts(counts).T
    classes, agents = table.shape
    width, height = (
        float(np.clip(2.2 + 0.5 * agents, 5.5, 14)),
        float(np.clip(2.4 + 0.36 * classes, 4, 12)),
    )
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    grid = figure.add_gridspec(
        2, 2, height_ratios=[0.8, height - 1.8], width_ratios=[1, 0.18 / width]
    )
    heat = figure.add_subplot(grid[1, 0])
    image = heat.imshow(
        table, cmap="Blues", aspect="auto", vmin=0, vmax=max(1, int(table.max()))
    )
    heat.set(xlabel="agent", ylabel="class")
    style(heat, grid=False)
    _whole_ticks(heat, agents, classes)
    bar = figure.colorbar(
        image, cax=figure.add_subplot(grid[1, 1]), ticks=MaxNLocator(6, integer=True)
    )
    bar.set_label("records of a class")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, length=3)
    room = 72 * (width - 1.6) / agents
    _write_cells(heat, table, min(9.0, room / (0.75 * len(str(int(table.max()))))))
    _draw_totals(figure.add_subplot(grid[0, 0], sharex=heat), table.sum(axis=0), room)
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def _counts(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    table = np.asarray(counts)
    if (
        table.ndim != 2
        or table.size == 0
        or table.dtype.kind not in "iu"
        or (table < 0).any()
    ):
        raise InputError(
            "Counts must be a table of whole numbers of at least 0, one row per agent."
        )
    return table.astype(np.int64)


def _write_cells(axes: Axes, table: npt.NDArray[np.int64], size: float) -> None:
    if size < 5 or table.shape[0] > 40:
        return
    for (row, column), count in np.ndenumerate(table):
        shade = "white" if count > 0.55 * table.max() else INK if count else "#B0B6BF"
        axes.text(
            column, row, str(count), size=size, color=shade, ha="center", va="center"
        )


def _draw_totals(axes: Axes, totals: npt.NDArray[np.int64], room: float) -> None:
    axes.bar(
        np.arange(len(totals)),
        totals,
        width=0.8 if len(totals) <= 60 else 1.0,
        color=SHADES[0],
    )
    axes.set(ylabel="total", ylim=(0, 1.6 * max(1, int(totals.max()))), yticks=[])
    style(axes, grid=False)
    axes.tick_params(labelbottom=False, bottom=False)
    axes.spines["left"].set_visible(False)
    flat = 0.75 * 8 * len(str(int(totals.max()))) <= room
    if room < 9:
        return
    for agent, total in enumerate(totals):
        axes.annotate(
            f"{total}",
            (agent, total),
            (0, 2),
            textcoords="offset points",
            size=8,
            color=INK,
            ha="center",
            rotation=0 if flat else 90,
        )


def _whole_ticks(axes: Axes, across: int, down: int) -> None:
    axes.set_xticks(
        np.arange(0, across, 1 if across <= 40 else 10 ** int(np.log10(across / 2)))
    )
    axes.set_yticks(
        np.arange(0, down, 1 if down <= 40 else 10 ** int(np.log10(down / 2)))
    )


def style(axes: Axes, grid: bool) -> None:
    """The frame and the ticks of all our pictures."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=9, colors=INK, length=3)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(color=PALE, lw=0.8)


def _title(figure: Figure, head: str, detail: str) -> None:
    figure.text(0.06, 0.955, head, size=14, weight="bold", color=INK, parse_math=False)
    figure.text(0.06, 0.922, detail, size=10.5, color=SOFT)
