"""Training loss and test score over rounds.

The loss is computed from records without noise, and no epsilon covers it. The score is computed
from models, which epsilon covers, and from the test set. So each has a picture of its own as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.report.figures import BLUE, INK, ORANGE, SOFT, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Measured = Sequence[Metrics]
Value = Callable[[Metrics], float | None]
Series = tuple[list[int], list[float]]


def draw_training(metrics: Measured, path: str | Path, title: str) -> Path:
    """Write the picture of `training_figure`."""
    return save(training_figure(metrics, title), path)


def training_figure(metrics: Measured, title: str) -> Figure:
    """Both beside each other: the mean of the agents, shaded from the worst to the best.

    A loss that nobody may know is skipped.
    """
    figure = _figure(metrics, 10)
    loss, score = figure.subplots(1, 2)
    _loss(loss, metrics)
    _score(score, metrics)
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def loss_figure(metrics: Measured) -> Figure:
    """The training loss alone."""
    figure = _figure(metrics, 6)
    _loss(figure.add_subplot(), metrics)
    return figure


def score_figure(metrics: Measured) -> Figure:
    """The score on the test records alone."""
    figure = _figure(metrics, 6)
    _score(figure.add_subplot(), metrics)
    return figure


def _figure(metrics: Measured, width: float) -> Figure:
    from matplotlib.figure import Figure

    if not metrics:
        raise InputError("There are no evaluated rounds to draw.")
    return Figure(figsize=(width, 4.2), facecolor="white", layout="constrained")


def _loss(axes: Axes, metrics: Measured) -> None:
    lowest = _series(metrics, lambda m: m.train_loss.min)
    highest = _series(metrics, lambda m: m.train_loss.max)
    _band(axes, lowest, highest, "lowest to highest agent")
    mean = _series(metrics, lambda m: m.train_loss.mean)
    _line(axes, mean, "-", BLUE, "mean of agents")
    _frame(axes, "training loss")


def _score(axes: Axes, metrics: Measured) -> None:
    from matplotlib.ticker import PercentFormatter

    worst = _series(metrics, lambda m: m.score.worst)
    best = _series(metrics, lambda m: m.score.best)
    _band(axes, worst, best, "worst to best agent")
    _line(axes, _series(metrics, lambda m: m.score.mean), "-", BLUE, "mean of agents")
    average = _series(metrics, lambda m: m.score.average_model)
    _line(axes, average, "--", ORANGE, "average model")
    score = metrics[-1].score
    if score.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    _frame(axes, f"test {score.label}")


def _frame(axes: Axes, name: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(name, size=11, color=INK, loc="left")
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style(axes, grid=True)
    if axes.lines:
        axes.legend(frameon=False, fontsize=9)
    else:
        axes.text(
            0.5, 0.5, "not measured", transform=axes.transAxes, color=SOFT, ha="center"
        )
        axes.set(xticks=[], yticks=[])


def _series(metrics: Measured, value: Value) -> Series:
    """The rounds in which something was measured, and what."""
    found = [(m.round, value(m)) for m in metrics]
    pairs = [(t, number) for t, number in found if number is not None]
    return [t for t, _ in pairs], [number for _, number in pairs]


def _band(axes: Axes, low: Series, high: Series, label: str) -> None:
    rounds = low[0]
    if len(rounds) == 1:  # a band over a single round would have no width
        axes.vlines(rounds, low[1], high[1], color=BLUE, alpha=0.18, lw=8, label=label)
    elif rounds:
        axes.fill_between(
            rounds, low[1], high[1], color=BLUE, alpha=0.18, lw=0, label=label
        )


def _line(axes: Axes, series: Series, dash: str, colour: str, label: str) -> None:
    rounds, values = series
    if rounds:
        marker = "o" if len(rounds) == 1 else ""
        axes.plot(
            rounds, values, dash, color=colour, lw=1.8, marker=marker, label=label
        )
    if len(rounds) == 1:
        axes.set_xlim(rounds[0] - 1, rounds[0] + 1)
