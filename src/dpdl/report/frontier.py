"""Accuracy against epsilon: the paper's points beside ours, one panel per graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdl.errors import InputError
from dpdl.report.comparison_curves import COLOURS
from dpdl.report.figures import INK, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = "osD^vP*X"
ROOM = 0.75
"""How much of the way to the next epsilon the points of one epsilon take: each algorithm has a
place of its own."""

Row = Mapping[str, Any]


def draw_frontier(
    rows: Sequence[Row], algorithms: Sequence[str], path: Path, title: str
) -> Path:
    """Write the picture of `frontier_figure`."""
    return save(frontier_figure(rows, algorithms, title), path)


def frontier_figure(
    rows: Sequence[Row], algorithms: Sequence[str], title: str
) -> Figure:
    """The cells of one data set, N and alpha_d.

    An algorithm looks the same wherever `algorithms` is the same.

    Hollow: the paper. Filled: ours. A bar is one standard deviation to either side.
    """
    from matplotlib.figure import Figure

    if not rows:
        raise InputError("There are no measured cells to draw.")
    graphs = sorted({row["graph"] for row in rows})
    present = [
        name for name in algorithms if any(row["algorithm"] == name for row in rows)
    ]
    figure = Figure(
        figsize=(10 if len(graphs) > 1 else 5.5, 4.6),
        facecolor="white",
        layout="constrained",
    )
    panels = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for axes, graph in zip(panels, graphs, strict=True):
        for k, name in enumerate(present):
            some = [
                row for row in rows if (row["graph"], row["algorithm"]) == (graph, name)
            ]
            _points(
                axes,
                some,
                (k - (len(present) - 1) / 2) / len(present),
                _look(algorithms.index(name)),
            )
        axes.set_title(graph, size=11, color=INK, loc="left")
        _epsilons(axes, sorted({row["epsilon"] for row in rows}))
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


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKS[k % len(MARKS)]}


def _points(
    axes: Axes, rows: Sequence[Row], place: float, look: Mapping[str, Any]
) -> None:
    """`place` is from -1/2 to 1/2, the paper's point a little to the left of ours."""
    for row in rows:
        for whose, spread, side, filled in (
            ("paper", "paper_spread", -0.035, False),
            ("ours", "spread", 0.035, True),
        ):
            if whose == "paper" and row["beyond"]:
                continue
            style = {
                **look,
                "mfc": look["color"] if filled else "white",
                "ms": 6,
                "lw": 0,
                "elinewidth": 1,
            }
            at = row["epsilon"] * 2 ** (ROOM * place + side)
            axes.errorbar(at, row[whose], row[spread] or 0, gid=whose, **style)


def _epsilons(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xticks([], minor=True)
    axes.set_xlim(values[0] / 2**0.5, values[-1] * 2**0.5)
    axes.set_xlabel("epsilon")


def _legend(figure: Figure, names: Sequence[str], algorithms: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], lw=0, ms=6, label=name, **_look(algorithms.index(name)))
        for name in names
    ]
    for label, fill in (("hollow: paper", "white"), ("filled: ours", SOFT)):
        handles.append(
            Line2D([], [], lw=0, ms=6, marker="o", color=SOFT, mfc=fill, label=label)
        )
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4 if len(figure.axes) > 1 else 3,
        frameon=False,
        fontsize=9,
    )
