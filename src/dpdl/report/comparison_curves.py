"""Curves of several algorithms in one picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.report.figures import BLUE, INK, ORANGE, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    BLUE,
    ORANGE,
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#222222",
    "#8C6D31",
)
DASHES = ("-", "--", "-.", ":")
"""They change after every eight colours, so that 32 lines look different."""

Runs = Sequence[Sequence[Metrics]]
"""The metrics of runs of one algorithm, one for each seed."""
Quantity = Callable[[Metrics], float | None]


@final
@dataclass(frozen=True)
class LineStyle:
    """How the line of an algorithm is drawn."""

    colour: str
    dashes: str


def draw_comparison(curves: Mapping[str, Runs], path: Path, title: str) -> Path:
    """Write the picture of `comparison_figure`."""
    return save(comparison_figure(curves, title), path)


def comparison_figure(curves: Mapping[str, Runs], title: str) -> Figure:
    """Test score and training loss over rounds: one line per algorithm, the mean over its seeds.

    `curves[algorithm]` holds the metrics of its runs, one per seed. With three seeds or more the
    band is one standard deviation to either side; with two it reaches from one to the other, since
    two points have no shape.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    every = [m for runs in curves.values() for metrics in runs for m in metrics]
    if not every:
        raise InputError("There are no evaluated rounds to draw.")
    below = 0.3 + 0.3 * -(-len(curves) // 4)  # rows of the legend
    figure = Figure(figsize=(10, 4.4 + below), facecolor="white", layout="constrained")
    score, loss = figure.subplots(1, 2)
    _panel(score, curves, lambda m: m.score.mean, f"test {every[0].score.label}")
    _panel(loss, curves, lambda m: m.train_loss.mean, "training loss")
    if every[0].score.percent:
        score.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    handles, labels = score.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(4, len(labels)),
        frameon=False,
        fontsize=9,
        title=_band_text(curves),
        title_fontsize=9,
    )
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def _panel(
    axes: Axes, curves: Mapping[str, Runs], quantity: Quantity, title: str
) -> None:
    """The lines of all algorithms."""
    from matplotlib.ticker import MaxNLocator

    for k, (algorithm, runs) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        dashes = DASHES[k // len(COLOURS) % len(DASHES)]
        _draw(axes, *averaged(runs, quantity), algorithm, LineStyle(colour, dashes))
    axes.set_title(title, size=11, color=INK, loc="left")
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style(axes, grid=True)


def _band_text(curves: Mapping[str, Runs]) -> str:
    """What the bands of the lines show."""
    seeds = {len(runs) for runs in curves.values()}
    if seeds == {1}:
        return "one seed"
    two, more = 2 in seeds, max(seeds) > 2
    band = "one standard deviation to either side" if more else "both seeds"
    also = ", or both of two seeds" if two and more else ""
    return f"mean over seeds, band: {band}{also}"


def averaged(runs: Runs, quantity: Quantity) -> tuple[list[int], np.ndarray]:
    """The rounds that were measured with every seed, and the values: (rounds, seeds)."""
    by_round = [_by_round(metrics, quantity) for metrics in runs]
    rounds = sorted(set.intersection(*map(set, by_round))) if by_round else []
    values = [[one[t] for one in by_round] for t in rounds]
    return rounds, np.array(values, dtype=np.float64)


def _by_round(metrics: Sequence[Metrics], quantity: Quantity) -> dict[int, float]:
    """The values that are known."""
    found = {}
    for m in metrics:
        value = quantity(m)
        if value is not None:
            found[m.round] = value
    return found


def _draw(
    axes: Axes, rounds: list[int], values: np.ndarray, label: str, look: LineStyle
) -> None:
    """A line, and a band if there are several seeds."""
    if not rounds:
        return
    mean = values.mean(axis=1)
    marker = "o" if len(rounds) == 1 else ""
    axes.plot(
        rounds, mean, look.dashes, color=look.colour, lw=1.8, marker=marker, label=label
    )
    if values.shape[1] == 2:
        low, high = values.min(axis=1), values.max(axis=1)
    elif values.shape[1] > 2:
        spread = values.std(axis=1, ddof=1)
        low, high = mean - spread, mean + spread
    else:
        return
    axes.fill_between(rounds, low, high, color=look.colour, alpha=0.15, lw=0)
