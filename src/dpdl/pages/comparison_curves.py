"""Curves of several algorithms in one picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.pages.captions import Words, captioned
from dpdl.pages.end_labels import End, label_ends, needed, settle
from dpdl.pages.figures import INK, save, style
from dpdl.pages.lines import Look, looks
from dpdl.pages.training_curves import STEPS, draw_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AROUND = 1.8
"""Inches of a figure above and below its axes."""

Runs = Sequence[Sequence[Metrics]]
"""The metrics of runs of one algorithm, one for each seed."""
Quantity = Callable[[Metrics], float | None]


def draw_comparison(
    curves: Mapping[str, Runs], path: Path, title: str, detail: str = ""
) -> Path:
    """Write the picture of `comparison_figure`."""
    return save(comparison_figure(curves, title, detail), path)


def comparison_figure(
    curves: Mapping[str, Runs], title: str, detail: str = ""
) -> Figure:
    """Test score and training loss over rounds: one line per algorithm, the mean over its seeds.

    `curves[algorithm]` holds the metrics of its runs, one per seed, and `detail` says what is
    proven. With three seeds or more the band is one standard deviation to either side; with two it
    reaches from one to the other, since two points have no shape.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    every = [m for runs in curves.values() for metrics in runs for m in metrics]
    if not every:
        raise InputError("There are no evaluated rounds to draw.")
    tall = max(4.8, AROUND + needed(len(curves)))
    figure = Figure(figsize=(12, tall), facecolor="white", layout="constrained")
    score, loss = figure.subplots(1, 2)
    scores = _panel(score, curves, lambda m: m.score.mean)
    losses = _panel(loss, curves, lambda m: m.train_loss.mean)
    _frame(score, f"test {every[0].score.label}")
    _frame(loss, "training loss")
    if every[0].score.percent:
        score.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    captioned(figure, Words(title, detail), _band_text(curves))
    settle(figure)
    label_ends(score, scores)
    label_ends(loss, losses)
    return figure


def _panel(axes: Axes, curves: Mapping[str, Runs], quantity: Quantity) -> list[End]:
    """Draw the lines of all algorithms; where they end."""
    found = looks(curves)
    ends = []
    for name, runs in curves.items():
        rounds, values = averaged(runs, quantity)
        if rounds:
            _draw(axes, rounds, values, found[name], name)
            mean = float(values[-1].mean())
            ends.append(End(rounds[-1], mean, name, found[name].colour))
    return ends


def _frame(axes: Axes, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, size=11, color=INK, loc="left")
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=STEPS))
    style(axes, grid=True)


def _band_text(curves: Mapping[str, Runs]) -> str:
    """What the bands of the lines show."""
    seeds = {len(runs) for runs in curves.values()}
    if seeds == {1}:
        return "One seed; mean over agents."
    two, more = 2 in seeds, max(seeds) > 2
    band = "one standard deviation to either side" if more else "both seeds"
    also = ", or both of two seeds" if two and more else ""
    return f"Mean over seeds and agents; shaded: {band}{also}."


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
    axes: Axes, rounds: list[int], values: np.ndarray, look: Look, name: str
) -> None:
    """A line, and a band if there are several seeds."""
    mean = values.mean(axis=1)
    draw_line(axes, rounds, mean.tolist(), look, name)
    if values.shape[1] == 2:
        low, high = values.min(axis=1), values.max(axis=1)
    elif values.shape[1] > 2:
        spread = values.std(axis=1, ddof=1)
        low, high = mean - spread, mean + spread
    else:
        return
    axes.fill_between(rounds, low, high, color=look.colour, alpha=0.12, lw=0)
