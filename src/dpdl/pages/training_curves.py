"""Training loss and test score over rounds.

The loss is computed from records without noise, and no epsilon covers it. The score is computed
from models, which epsilon covers, and from the test set. So each has a picture of its own as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.folder.summary import Summary
from dpdl.pages.captions import Words, captioned
from dpdl.pages.coverage import file_name
from dpdl.pages.end_labels import End, label_ends, settle
from dpdl.pages.epsilon_words import epsilon_words
from dpdl.pages.figures import INK, SOFT, save, style
from dpdl.pages.lines import AVERAGE, Look, look_of
from dpdl.privacy.threats import Threat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Measured = Sequence[Metrics]
Value = Callable[[Metrics], float | None]
Series = tuple[list[int], list[float]]

MARKS = 12
"""About how many markers a line has at most; each of them is at a measured point."""
Panel = Callable[["Axes", Measured, Look], list[End]]
STEPS = (1, 2, 2.5, 5, 10)
"""Between numbers of rounds on an axis, times a power of ten."""
SHADED = "Shaded: from the worst to the best agent. Markers stand at measured rounds."


class RunWords(NamedTuple):
    """What a picture of a run needs to know beside its numbers."""

    words: Words
    algorithm: str  # gives the lines their look


def words_of(summary: Summary, listener: Threat) -> RunWords:
    """The title of a run's pictures: who trains, on what, and what is proven against whom."""
    title = title_of(summary)
    detail = epsilon_words(summary.epsilon, listener)
    return RunWords(
        Words(title, f"{detail[:1].upper()}{detail[1:]}."), summary.algorithm
    )


def title_of(s: Summary) -> str:
    """Who trains, on what; a file by its name alone."""
    data, graph = file_name(s.dataset), file_name(s.graph)
    return f"{s.algorithm} on {data}, {graph} of {s.agents} agents"


def draw_training(metrics: Measured, path: str | Path, about: RunWords) -> Path:
    """Write the picture of `training_figure`."""
    return save(training_figure(metrics, about), path)


def training_figure(metrics: Measured, about: RunWords) -> Figure:
    """Both beside each other: the mean of the agents, shaded from the worst to the best.

    A loss that nobody may know is skipped.
    """
    return _drawn(metrics, about, (_loss, _score))


def loss_figure(metrics: Measured, about: RunWords) -> Figure:
    """The training loss alone."""
    return _drawn(metrics, about, (_loss,))


def score_figure(metrics: Measured, about: RunWords) -> Figure:
    """The score on the test records alone."""
    return _drawn(metrics, about, (_score,))


def _drawn(metrics: Measured, about: RunWords, panels: Sequence[Panel]) -> Figure:
    from matplotlib.figure import Figure

    if not metrics:
        raise InputError("There are no evaluated rounds to draw.")
    size = (1.5 + 4.75 * len(panels), 4.6)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    look = look_of(about.algorithm)
    ends = [draw(axes, metrics, look) for draw, axes in zip(panels, every, strict=True)]
    captioned(figure, about.words, SHADED)
    settle(figure)
    for axes, names in zip(every, ends, strict=True):
        label_ends(axes, names)
    return figure


def _loss(axes: Axes, metrics: Measured, look: Look) -> list[End]:
    lowest = _series(metrics, lambda m: m.train_loss.min)
    highest = _series(metrics, lambda m: m.train_loss.max)
    _band(axes, lowest, highest, look)
    mean = _series(metrics, lambda m: m.train_loss.mean)
    ends = _line(axes, mean, look, "mean of agents")
    _frame(axes, "training loss")
    return ends


def _score(axes: Axes, metrics: Measured, look: Look) -> list[End]:
    from matplotlib.ticker import PercentFormatter

    worst = _series(metrics, lambda m: m.score.worst)
    best = _series(metrics, lambda m: m.score.best)
    _band(axes, worst, best, look)
    mean = _series(metrics, lambda m: m.score.mean)
    ends = _line(axes, mean, look, "mean of agents")
    average = _series(metrics, lambda m: m.score.average_model)
    ends += _line(axes, average, AVERAGE, "average model")
    score = metrics[-1].score
    if score.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    _frame(axes, f"test {score.label}")
    return ends


def _frame(axes: Axes, name: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(name, size=11, color=INK, loc="left")
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=STEPS))
    style(axes, grid=True)
    if not axes.lines:
        axes.text(
            0.5, 0.5, "not measured", transform=axes.transAxes, color=SOFT, ha="center"
        )
        axes.set(xticks=[], yticks=[])


def _series(metrics: Measured, value: Value) -> Series:
    """The rounds in which something was measured, and what."""
    found = [(m.round, value(m)) for m in metrics]
    pairs = [(t, number) for t, number in found if number is not None]
    return [t for t, _ in pairs], [number for _, number in pairs]


def _band(axes: Axes, low: Series, high: Series, look: Look) -> None:
    rounds = low[0]
    if len(rounds) == 1:  # a band over a single round would have no width
        axes.vlines(rounds, low[1], high[1], lw=8, color=look.colour, alpha=0.18)
    elif rounds:
        axes.fill_between(rounds, low[1], high[1], lw=0, color=look.colour, alpha=0.18)


def _line(axes: Axes, series: Series, look: Look, name: str) -> list[End]:
    """Draw a line; where it ends, if it is there."""
    rounds, values = series
    if not rounds:
        return []
    draw_line(axes, rounds, values, look, name)
    if len(rounds) == 1:
        axes.set_xlim(rounds[0] - 1, rounds[0] + 1)
    return [End(rounds[-1], values[-1], name, look.colour)]


def draw_line(
    axes: Axes, rounds: Sequence[int], values: Sequence[float], look: Look, name: str
) -> None:
    """A line in its look, with markers where something was measured."""
    axes.plot(
        rounds,
        values,
        ls=look.linestyle,
        color=look.colour,
        lw=1.8,
        marker=look.letter,
        ms=look.size,
        markevery=-(-len(rounds) // MARKS),
        label=name,
    )
    axes.margins(x=0.02)
