"""Training loss over rounds, as in the paper's figures of convergence.

One panel per number of agents and epsilon.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.paper.cells import algorithms_of_paper
from dpdl.report.comparison_curves import COLOURS
from dpdl.report.figures import INK, save
from dpdl.report.frontier import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = (
    "-",
    "--",
    "-.",
    ":",
    (0, (8, 2, 1, 2, 1, 2)),
    (0, (2, 2)),
    (0, (10, 3)),
    (0, (4, 1, 1, 1)),
)
"""As many as there are colours: lines can be told apart without them."""
DECADE = 10.0
"""A loss that falls by more than this factor is drawn on a logarithmic axis."""

Row = Mapping[str, Any]
Values = npt.NDArray[np.float64]


class Band(NamedTuple):
    """One line.

    Rounds, the mean over seeds and agents, the lowest and the highest agent of any seed.
    """

    rounds: list[int]
    mean: Values
    low: Values
    high: Values


def draw_convergence(
    rows: Sequence[Row],
    algorithms: Sequence[str],
    path: Path,
    mode: str,
    guarantee: str,
) -> Path:
    """Write the picture of `convergence_figure`."""
    return save(convergence_figure(rows, algorithms, mode, guarantee), path)


def convergence_figure(
    rows: Sequence[Row], algorithms: Sequence[str], mode: str, guarantee: str
) -> Figure:
    """The cells of one data set, graph and alpha_d.

    An algorithm looks the same wherever `algorithms` is the same.

    A row has `curves`, one per seed, each with `rounds`, `loss`, `lowest` and `highest`; what has
    none is not drawn. Below each other: numbers of agents. Beside each other: epsilons.
    """
    from matplotlib.figure import Figure

    rows = list(filter(drawable, rows))
    if not rows:
        raise InputError("There are no curves to draw.")
    bands = {
        (row["agents"], row["epsilon"], row["algorithm"]): merged(row["curves"])
        for row in rows
    }
    down, across = (sorted({key[k] for key in bands}) for k in (0, 1))
    size = (max(7.0, 1.2 + 3.0 * len(across)), 2.1 + 2.2 * len(down))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    grid = figure.add_gridspec(len(down), len(across))
    panels: dict[tuple[int, int], Axes] = {}
    for agents, epsilon in sorted({key[:2] for key in bands}):
        first, place = (
            next(iter(panels.values()), None),
            (down.index(agents), across.index(epsilon)),
        )
        axes = panels[place] = figure.add_subplot(
            grid[place], sharex=first, sharey=first
        )
        for k, name in enumerate(algorithms):
            if band := bands.get((agents, epsilon, name)):
                _line(axes, band, name, _look(k))
        axes.set_title(
            f"{agents} agents, epsilon {epsilon:g}", size=10, color=INK, loc="left"
        )
        styled(axes)
    _scales(panels, bands.values())
    _legend(figure, algorithms, rows, guarantee)
    title = f"Convergence: {place_of(rows[0])}, mode {mode}"
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def drawable(row: Row) -> bool:
    """Whether a cell has a curve with something to see."""
    return bool(merged(row.get("curves") or ()).rounds)


def merged(curves: Iterable[Mapping[str, Sequence[Any]]]) -> Band:
    """Seeds in one band: the rounds in which every seed has all numbers."""
    found = []
    for curve in curves:
        columns = zip(curve["loss"], curve["lowest"], curve["highest"], strict=True)
        found.append(
            {
                t: c
                for t, c in zip(curve["rounds"], columns, strict=True)
                if None not in c
            }
        )
    rounds = sorted(set.intersection(*map(set, found))) if found else []
    values = np.array([[seed[t] for seed in found] for t in rounds], dtype=np.float64)
    loss, lowest, highest = np.moveaxis(values, 2, 0) if rounds else np.empty((3, 0, 1))
    return Band(rounds, loss.mean(axis=1), lowest.min(axis=1), highest.max(axis=1))


def ordered(names: Iterable[str]) -> list[str]:
    """All of the paper, then the other names.

    So an algorithm of the paper looks the same in all figures.
    """
    paper = algorithms_of_paper()
    return [*paper, *sorted(set(names) - set(paper))]


def place_of(row: Row) -> str:
    """What all panels of a figure share."""
    return f"{row['dataset']}, {row['graph']}, alpha_d {row['alpha_d']:g}"


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "ls": DASHES[k % len(DASHES)]}


def _line(axes: Axes, band: Band, label: str, look: Mapping[str, Any]) -> None:
    alone = len(band.rounds) == 1
    axes.plot(
        band.rounds, band.mean, lw=1.6, marker="o" if alone else "", label=label, **look
    )
    if alone:  # a band over a single round would have no width
        axes.vlines(
            band.rounds, band.low, band.high, color=look["color"], alpha=0.15, lw=8
        )
    else:
        axes.fill_between(
            band.rounds, band.low, band.high, color=look["color"], alpha=0.15, lw=0
        )


# ------------------------------------------------------------------ axes and words
def _wide(bands: Iterable[Band]) -> bool:
    """Whether a linear axis would hide something, and a logarithmic one nothing."""
    bands = list(bands)
    means = np.concatenate([band.mean for band in bands])
    return bool(
        min(band.low.min() for band in bands) > 0 and means.max() > DECADE * means.min()
    )


def _scales(panels: Mapping[tuple[int, int], Axes], bands: Iterable[Band]) -> None:
    """All panels share their axes.

    Names and numbers are at the left of every row and at the foot of every column.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    for (row, column), axes in panels.items():
        if _wide(bands):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_locator(NullLocator())
        else:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(
            MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10])
        )
        left = column == min(c for r, c in panels if r == row)
        foot = row == max(r for r, c in panels if c == column)
        axes.tick_params(labelleft=left, labelbottom=foot)
        axes.set(
            ylabel="training loss (nats)" if left else "",
            xlabel="round" if foot else "",
        )


def _legend(
    figure: Figure, algorithms: Sequence[str], rows: Sequence[Row], guarantee: str
) -> None:
    handles = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    names = [name for name in algorithms if name in handles]
    room = int(12 * figure.get_figwidth())  # letters of this size
    words = (_line_words(rows), f"{guarantee[:1].upper()}{guarantee[1:].rstrip('.')}.")
    legend = figure.legend(
        handles=[handles[name] for name in names],
        loc="outside lower center",
        ncols=min(len(names), 5 if figure.get_figwidth() > 8 else 3),
        **{"frameon": False, "fontsize": 9, "handlelength": 3.5, "title_fontsize": 9},
        title="\n".join(line for word in words for line in textwrap.wrap(word, room)),
    )
    legend.get_title().set_multialignment("center")


def _line_words(rows: Sequence[Row]) -> str:
    counts = {len(row["curves"]) for row in rows}
    if counts == {1}:
        return (
            "Line: mean of the agents, one seed. Shaded: from the lowest to the "
            "highest agent."
        )
    seeds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return (
        f"Line: mean of the agents and of {seeds} seeds. Shaded: from the lowest to "
        "the highest agent of any seed."
    )
