"""Training loss and test accuracy over rounds.

The loss is computed from records without noise, and no epsilon covers it. The accuracy is computed
from models, which epsilon covers, and from the test set. So each has a picture of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdl.errors import InputError
from dpdl.report.figures import BLUE, INK, ORANGE, SOFT, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metrics = Sequence[Mapping[str, Any]]


def draw_training(metrics: Metrics, path: str | Path, title: str) -> Path:
    """Write the picture of `training_figure`."""
    return save(training_figure(metrics, title), path)


def training_figure(metrics: Metrics, title: str) -> Figure:
    """Both beside each other: the mean of the agents, shaded from the worst to the best.

    A value that is missing or None is skipped.
    """
    figure = _figure(metrics, 10)
    loss, accuracy = figure.subplots(1, 2)
    _loss(loss, metrics)
    _accuracy(accuracy, metrics)
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def loss_figure(metrics: Metrics) -> Figure:
    """The training loss alone."""
    figure = _figure(metrics, 6)
    _loss(figure.add_subplot(), metrics)
    return figure


def accuracy_figure(metrics: Metrics) -> Figure:
    """The test accuracy alone."""
    figure = _figure(metrics, 6)
    _accuracy(figure.add_subplot(), metrics)
    return figure


def _figure(metrics: Metrics, width: float) -> Figure:
    from matplotlib.figure import Figure

    if not metrics:
        raise InputError("There are no evaluated rounds to draw.")
    return Figure(figsize=(width, 4.2), facecolor="white", layout="constrained")


def _loss(axes: Axes, metrics: Metrics) -> None:
    _band(axes, metrics, "train_loss", ("min", "max"), "lowest to highest agent")
    _frame(axes, "training loss")


def _accuracy(axes: Axes, metrics: Metrics) -> None:
    from matplotlib.ticker import PercentFormatter

    _band(axes, metrics, "accuracy", ("worst", "best"), "worst to best agent")
    _line(
        axes,
        _series(metrics, "accuracy", "average_model"),
        "--",
        ORANGE,
        "average model",
    )
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    _frame(axes, "test accuracy")


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


def _series(metrics: Metrics, group: str, *keys: str) -> tuple[list[int], list[Any]]:
    """The rounds in which all `keys` of `group` were measured, and their values."""
    rounds, values = [], []
    for item in metrics:
        found = [(item.get(group) or {}).get(key) for key in keys]
        if None not in found:
            rounds.append(item["round"])
            values.append(found if len(found) > 1 else found[0])
    return rounds, values


def _band(
    axes: Axes, metrics: Metrics, group: str, ends: tuple[str, str], label: str
) -> None:
    rounds, pairs = _series(metrics, group, *ends)
    if rounds:
        low, high = np.array(pairs, dtype=np.float64).T
        if len(rounds) == 1:  # a band over a single round would have no width
            axes.vlines(rounds, low, high, color=BLUE, alpha=0.18, lw=8, label=label)
        else:
            axes.fill_between(
                rounds, low, high, color=BLUE, alpha=0.18, lw=0, label=label
            )
    _line(axes, _series(metrics, group, "mean"), "-", BLUE, "mean of agents")


def _line(
    axes: Axes, series: tuple[list[int], list[Any]], dash: str, colour: str, label: str
) -> None:
    rounds, values = series
    if rounds:
        marker = "o" if len(rounds) == 1 else ""
        axes.plot(
            rounds, values, dash, color=colour, lw=1.8, marker=marker, label=label
        )
    if len(rounds) == 1:
        axes.set_xlim(rounds[0] - 1, rounds[0] + 1)
