"""The curves of a result: test score, training loss and epsilon over the rounds.

The loss is computed from records without noise, and no epsilon covers it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#D55E00"
DPI = 80
Value = Callable[[Metrics], float | None]


def plot(metrics: Sequence[Metrics], title: str) -> Figure:
    """A figure with three panels: score, loss, epsilon; a notebook shows it by itself.

    A score or a loss has a band from the worst agent to the best.
    """
    figure = _figure()
    score, loss, epsilon = figure.subplots(1, 3)
    label = metrics[-1].score.label
    _line(score, metrics, lambda m: m.score.mean, BLUE, "mean of agents")
    _line(score, metrics, lambda m: m.score.average_model, ORANGE, "average model")
    _band(score, metrics, lambda m: m.score.worst, lambda m: m.score.best)
    _line(loss, metrics, lambda m: m.train_loss.mean, BLUE, "mean of agents")
    _band(loss, metrics, lambda m: m.train_loss.min, lambda m: m.train_loss.max)
    _line(epsilon, metrics, lambda m: m.epsilon.finite, BLUE, "proven so far")
    named = (f"test {label}", "training loss (not covered)", "epsilon")
    without = ("", "not measured", "nothing is proven")
    for axes, name, words in zip(figure.axes, named, without, strict=True):
        axes.set_title(name, size=10, loc="left")
        axes.set_xlabel("round")
        axes.spines[["top", "right"]].set_visible(False)
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
        else:
            axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center")
    figure.suptitle(title, size=11, parse_math=False)
    return figure


def _figure() -> Figure:
    """An empty figure that a notebook shows; matplotlib's global state is not touched."""
    try:
        from matplotlib.figure import Figure
    except ImportError as failure:
        raise InputError(
            "A plot needs matplotlib, which is not installed: pip install matplotlib."
        ) from failure

    class ShownFigure(Figure):
        """A figure that a notebook shows without pyplot."""

        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=DPI)
            return picture.getvalue()

    return ShownFigure(figsize=(11, 3.2), facecolor="white", layout="constrained")


def _line(
    axes: Axes, metrics: Sequence[Metrics], value: Value, colour: str, label: str
) -> None:
    points = [(m.round, number) for m in metrics if (number := value(m)) is not None]
    if points:
        rounds, values = zip(*points, strict=True)
        marker = "o" if len(points) == 1 else ""
        axes.plot(rounds, values, color=colour, lw=1.6, marker=marker, label=label)


def _band(axes: Axes, metrics: Sequence[Metrics], low: Value, high: Value) -> None:
    found = [(m.round, low(m), high(m)) for m in metrics]
    known = [(t, a, b) for t, a, b in found if a is not None and b is not None]
    if known:
        rounds, lows, highs = zip(*known, strict=True)
        axes.fill_between(rounds, lows, highs, color=BLUE, alpha=0.18, lw=0)
