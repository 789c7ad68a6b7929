"""Accuracy against epsilon: the paper's points beside ours, one panel per graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.pages.captions import Words, captioned
from dpdl.pages.compared_cells import ComparedCell
from dpdl.pages.figures import INK, PALE, SOFT, save
from dpdl.pages.lines import Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

ROOM = 0.75
"""Share of the distance to the next epsilon that the points of one epsilon take.

Each algorithm has a place of its own there.
"""
SPREAD = "Vertical lines: one standard deviation to either side, where there are several seeds."
SIDE = 0.035 / ROOM
"""How far the paper's and our point are from the place of their algorithm."""


def draw_frontier(
    rows: Sequence[ComparedCell], algorithms: Sequence[str], path: Path, words: Words
) -> Path:
    """Write the picture of `frontier_figure`."""
    return save(frontier_figure(rows, algorithms, words), path)


def frontier_figure(
    rows: Sequence[ComparedCell], algorithms: Sequence[str], words: Words
) -> Figure:
    """The cells of one data set, number of agents and alpha_d.

    Points of one epsilon stand side by side in the order of `algorithms`.

    Hollow: the paper. Filled: ours. A bar is one standard deviation to either side.
    """
    from matplotlib.figure import Figure

    if not rows:
        raise InputError("There are no measured cells to draw.")
    graphs = sorted({row.graph for row in rows})
    measured = {row.algorithm for row in rows}
    present = [name for name in algorithms if name in measured]
    width = 10 if len(graphs) > 1 else 5.5
    figure = Figure(figsize=(width, 5.0), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    found = looks(present)
    proven = all(row.is_proven for row in rows)
    epsilons = sorted({row.epsilon for row in rows})
    for axes, graph in zip(panels, graphs, strict=True):
        for k, name in enumerate(present):
            some = [row for row in rows if (row.graph, row.algorithm) == (graph, name)]
            place = (k - (len(present) - 1) / 2) / len(present)
            for row in some:
                _points(axes, row, place, found[name])
        axes.set_title(graph, size=11, color=INK, loc="left")
        _epsilons(axes, epsilons, proven)
        styled(axes)
    panels[0].set_ylabel("test accuracy in percent")
    _legend(figure, found)
    detail = " ".join(filter(None, (words.detail, SPREAD)))
    captioned(figure, Words(words.title, detail))
    return figure


def styled(axes: Axes) -> None:
    """The look of all our curves."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=9, colors=INK, length=3)
    axes.grid(color=PALE, lw=0.8)
    axes.set_axisbelow(True)


def _points(axes: Axes, row: ComparedCell, place: float, look: Look) -> None:
    """The paper's point, a little to the left, and ours; `place` is from -1/2 to 1/2."""
    if not row.beyond:
        _point(axes, row.paper, row.paper_spread, _at(row, place - SIDE), look, "paper")
    _point(axes, row.ours, row.spread or 0, _at(row, place + SIDE), look, "ours")


def _at(row: ComparedCell, place: float) -> float:
    return row.epsilon * 2 ** (ROOM * place)


def _point(
    axes: Axes, accuracy: float, spread: float, at: float, look: Look, whose: str
) -> None:
    axes.errorbar(
        at,
        accuracy,
        spread,
        gid=whose,
        color=look.colour,
        marker=look.letter,
        mfc=look.colour if whose == "ours" else "white",
        ms=1.4 * look.size,
        lw=0,
        elinewidth=1,
    )


def _epsilons(axes: Axes, values: Sequence[float], proven: bool) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xticks([], minor=True)
    axes.set_xlim(values[0] / 2**0.5, values[-1] * 2**0.5)
    kind = "ours proven, paper's claimed" if proven else "claimed"
    axes.set_xlabel(f"epsilon ({kind})")


def _legend(figure: Figure, found: Mapping[str, Look]) -> None:
    handles = [_handle(name, x.colour, x.letter) for name, x in found.items()]
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
