"""Training loss over rounds, as in the paper's figures of convergence.

One panel per number of agents and epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.folder.cell_results import Curve
from dpdl.pages.captions import Words, captioned
from dpdl.pages.compared_cells import ComparedCell, MeasuredCell
from dpdl.pages.end_labels import End, label_ends, settle
from dpdl.pages.figures import INK, save
from dpdl.pages.frontier import styled
from dpdl.pages.lines import Look, looks
from dpdl.pages.training_curves import STEPS, draw_line
from dpdl.paper.cells import algorithms_of_paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
"""A loss that falls by more than this factor is drawn on a logarithmic axis."""

Values = npt.NDArray[np.float64]


class Band(NamedTuple):
    """One line.

    Rounds, the mean over seeds and agents, the lowest and the highest agent of any seed.
    """

    rounds: list[int]
    mean: Values
    low: Values
    high: Values


class Panel(NamedTuple):
    """Where a panel stands: numbers of agents go down, epsilons go across."""

    agents: int
    epsilon: float


def panel_title(panel: Panel, cells: Iterable[MeasuredCell]) -> str:
    """Number of agents and epsilon, which is claimed unless all runs of the panel prove it."""
    rows = [cell.compared for cell in cells if panel_of(cell) == panel]
    kind = "proven" if all(row.is_proven for row in rows) else "claimed"
    return f"{panel.agents} agents, epsilon {panel.epsilon:g} ({kind})"


def panel_of(cell: MeasuredCell) -> Panel:
    """The panel that has the line of a cell."""
    return Panel(cell.compared.agents, cell.compared.epsilon)


def draw_convergence(
    cells: Sequence[MeasuredCell],
    algorithms: Sequence[str],
    path: Path,
    mode: str,
    guarantee: str,
) -> Path:
    """Write the picture of `convergence_figure`."""
    return save(convergence_figure(cells, algorithms, mode, guarantee), path)


def convergence_figure(
    cells: Sequence[MeasuredCell],
    algorithms: Sequence[str],
    mode: str,
    guarantee: str,
) -> Figure:
    """The cells of one data set, graph and alpha_d that have curves.

    Below each other: numbers of agents. Beside each other: epsilons. Names are at the ends of the
    lines of the last panel of a row; in a legend if that panel lacks one of them.
    """
    from matplotlib.figure import Figure

    shown = [cell for cell in cells if drawable(cell)]
    if not shown:
        raise InputError("There are no curves to draw.")
    bands: dict[Panel, dict[str, Band]] = {}
    for cell in shown:
        of_panel = bands.setdefault(panel_of(cell), {})
        of_panel[cell.compared.algorithm] = band_of(cell.curves)
    down = sorted({panel.agents for panel in bands})
    across = sorted({panel.epsilon for panel in bands})
    size = (max(7.0, 2.2 + 3.0 * len(across)), 1.9 + 2.2 * len(down))
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    grid = figure.add_gridspec(len(down), len(across))
    panels: dict[tuple[int, int], Axes] = {}
    for panel in sorted(bands):
        first = next(iter(panels.values()), None)
        place = (down.index(panel.agents), across.index(panel.epsilon))
        axes = figure.add_subplot(grid[place], sharex=first, sharey=first)
        panels[place] = axes
        _lines(axes, bands[panel], algorithms)
        axes.set_title(panel_title(panel, shown), size=10, color=INK, loc="left")
        styled(axes)
    _scales(panels, [band for of_panel in bands.values() for band in of_panel.values()])
    promise = f"{guarantee[:1].upper()}{guarantee[1:].rstrip('.')}."
    title = f"Convergence: {setting_of(shown[0].compared)}, mode {mode}"
    captioned(figure, Words(title, f"{promise} {_about_lines(shown)}"))
    _name_lines(figure, panels, algorithms)
    return figure


def drawable(cell: MeasuredCell) -> bool:
    """Whether a cell has a curve with something to see."""
    return bool(band_of(cell.curves).rounds)


def band_of(curves: Iterable[Curve]) -> Band:
    """Seeds in one band: the rounds in which every seed has all numbers."""
    found = [_by_round(curve) for curve in curves]
    rounds = sorted(set.intersection(*map(set, found))) if found else []
    values = np.array([[seed[t] for seed in found] for t in rounds], dtype=np.float64)
    loss, lowest, highest = np.moveaxis(values, 2, 0) if rounds else np.empty((3, 0, 1))
    return Band(rounds, loss.mean(axis=1), lowest.min(axis=1), highest.max(axis=1))


def _by_round(curve: Curve) -> dict[int, tuple[float | None, ...]]:
    """Round -> mean, lowest and highest loss, where all of them are numbers."""
    losses = zip(curve.loss, curve.lowest, curve.highest, strict=True)
    every = zip(curve.rounds, losses, strict=True)
    return {t: three for t, three in every if None not in three}


def ordered(names: Iterable[str]) -> list[str]:
    """All of the paper, then the other names.

    So an algorithm of the paper looks the same in all figures.
    """
    paper = algorithms_of_paper()
    return [*paper, *sorted(set(names) - set(paper))]


def setting_of(row: ComparedCell) -> str:
    """What all panels of a figure share."""
    return f"{row.dataset}, {row.graph}, alpha_d {row.alpha_d:g}"


def _lines(axes: Axes, bands: Mapping[str, Band], algorithms: Sequence[str]) -> None:
    found = looks(algorithms)
    for name in algorithms:
        if name in bands:
            _line(axes, bands[name], name, found[name])


def _line(axes: Axes, band: Band, label: str, look: Look) -> None:
    """The line of an algorithm, and the shade around it."""
    draw_line(axes, band.rounds, band.mean.tolist(), look, label)
    shade = (band.rounds, band.low, band.high)
    if len(band.rounds) == 1:  # a band over a single round would have no width
        axes.vlines(*shade, color=look.colour, alpha=0.15, lw=8)
    else:
        axes.fill_between(*shade, color=look.colour, alpha=0.15, lw=0)


# ------------------------------------------------------------------ axes and texts
def _wide(bands: Sequence[Band]) -> bool:
    """Whether a linear axis would hide something, and a logarithmic one nothing."""
    means = np.concatenate([band.mean for band in bands])
    positive = min(band.low.min() for band in bands) > 0
    return bool(positive and means.max() > DECADE * means.min())


def _scales(panels: Mapping[tuple[int, int], Axes], bands: Sequence[Band]) -> None:
    """All panels share their axes.

    Names and numbers are at the left of every row and at the foot of every column.
    """
    from matplotlib.ticker import MaxNLocator

    for (row, column), axes in panels.items():
        if _wide(bands):
            _logarithmic(axes)
        else:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=STEPS))
        left = column == min(c for r, c in panels if r == row)
        foot = row == max(r for r, c in panels if c == column)
        axes.tick_params(labelleft=left, labelbottom=foot)
        axes.set_ylabel("training loss (nats)" if left else "")
        axes.set_xlabel("round" if foot else "")


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _name_lines(
    figure: Figure, panels: Mapping[tuple[int, int], Axes], algorithms: Sequence[str]
) -> None:
    """Names at the ends of lines, or in a legend."""
    last = [panels[max(p for p in panels if p[0] == row)] for row, _ in panels]
    ends = {axes: _ends(axes) for axes in last}
    handles = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    present = [name for name in algorithms if name in handles]
    if all(len(of_panel) == len(present) for of_panel in ends.values()):
        settle(figure)
        for axes, of_panel in ends.items():
            label_ends(axes, of_panel)
        return
    figure.legend(
        handles=[handles[name] for name in present],
        loc="outside lower center",
        ncols=min(len(present), 5 if figure.get_figwidth() > 8 else 3),
        frameon=False,
        fontsize=9,
        handlelength=4,
    )


def _ends(axes: Axes) -> list[End]:
    """Where the lines of a panel end."""
    return [
        End(
            float(np.asarray(line.get_xdata())[-1]),
            float(np.asarray(line.get_ydata())[-1]),
            str(line.get_label()),
            str(line.get_color()),
        )
        for line in axes.lines
    ]


def _about_lines(cells: Sequence[MeasuredCell]) -> str:
    counts = {len(cell.curves) for cell in cells}
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
