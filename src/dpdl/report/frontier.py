"""Accuracy against epsilon: the paper's points beside ours, one panel per graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.report.compared_cells import ComparedCell
from dpdl.report.comparison_curves import COLOURS
from dpdl.report.figures import INK, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MARKS = "osD^vP*X"
ROOM = 0.75
"""Share of the distance to the next epsilon that the points of one epsilon take.

Each algorithm has a place of its own there.
"""
SIDE = 0.035 / ROOM
"""How far the paper's and our point are from the place of their algorithm."""


def draw_frontier(
    rows: Sequence[ComparedCell], algorithms: Sequence[str], path: Path, title: str
) -> Path:
    """Write the picture of `frontier_figure`."""
    return save(frontier_figure(rows, algorithms, title), path)


def frontier_figure(
    rows: Sequence[ComparedCell], algorithms: Sequence[str], title: str
) -> Figure:
    """The cells of one data set, number of agents and alpha_d.

    An algorithm looks the same wherever `algorithms` is the same.

    Hollow: the paper. Filled: ours. A bar is one standard deviation to either side.
    """
    from matplotlib.figure import Figure

    if not rows:
        raise InputError("There are no measured cells to draw.")
    graphs = sorted({row.graph for row in rows})
    measured = {row.algorithm for row in rows}
    present = [name for name in algorithms if name in measured]
    width = 10 if len(graphs) > 1 else 5.5
    figure = Figure(figsize=(width, 4.6), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    epsilons = sorted({row.epsilon for row in rows})
    for axes, graph in zip(panels, graphs, strict=True):
        for k, name in enumerate(present):
            some = [row for row in rows if (row.graph, row.algorithm) == (graph, name)]
            place = (k - (len(present) - 1) / 2) / len(present)
            for row in some:
                _points(axes, row, place, algorithms.index(name))
        axes.set_title(graph, size=11, color=INK, loc="left")
        _epsilons(axes, epsilons)
        styled(axes)
    panels[0].set_ylabel("test accuracy in percent")
    _legend(figure, present, algorithms)
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def styled(axes: Axes) -> None:
    """The look of all our curves."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=9, colors=INK, length=3)
    axes.grid(color=PALE, lw=0.8)
    axes.set_axisbelow(True)


def _look(k: int) -> tuple[str, str]:
    """Colour and marker of algorithm number k."""
    return COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)]


def _points(axes: Axes, row: ComparedCell, place: float, k: int) -> None:
    """The paper's point, a little to the left, and ours; `place` is from -1/2 to 1/2."""
    if not row.beyond:
        _point(axes, row.paper, row.paper_spread, _at(row, place - SIDE), k, "paper")
    _point(axes, row.ours, row.spread or 0, _at(row, place + SIDE), k, "ours")


def _at(row: ComparedCell, place: float) -> float:
    return row.epsilon * 2 ** (ROOM * place)


def _point(
    axes: Axes, accuracy: float, spread: float, at: float, k: int, whose: str
) -> None:
    colour, mark = _look(k)
    axes.errorbar(
        at,
        accuracy,
        spread,
        gid=whose,
        color=colour,
        marker=mark,
        mfc=colour if whose == "ours" else "white",
        ms=6,
        lw=0,
        elinewidth=1,
    )


def _epsilons(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xticks([], minor=True)
    axes.set_xlim(values[0] / 2**0.5, values[-1] * 2**0.5)
    axes.set_xlabel("epsilon")


def _legend(figure: Figure, names: Sequence[str], algorithms: Sequence[str]) -> None:
    handles = [_handle(name, *_look(algorithms.index(name))) for name in names]
    handles += [
        _handle("hollow: paper", SOFT, "o", "white"),
        _handle("filled: ours", SOFT, "o"),
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4 if len(figure.axes) > 1 else 3,
        frameon=False,
        fontsize=9,
    )


def _handle(label: str, colour: str, mark: str, fill: str | None = None) -> Line2D:
    from matplotlib.lines import Line2D

    face = fill or colour
    return Line2D([], [], lw=0, ms=6, label=label, color=colour, marker=mark, mfc=face)
