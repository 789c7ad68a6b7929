"""Curves of several algorithms in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdl.errors import InputError
from dpdl.report.figures import BLUE, INK, ORANGE, PALE, SOFT, save

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
"""Dashes change with every round of the colours, so 32 lines can be told apart."""

Runs = Sequence[Sequence[dict[str, Any]]]


def draw_comparison(curves: Mapping[str, Runs], path: Path, title: str) -> Path:
    """Write the picture of `comparison_figure`."""
    return save(comparison_figure(curves, title), path)


def comparison_figure(curves: Mapping[str, Runs], title: str) -> Figure:
    """Test accuracy and training loss over rounds: one line per algorithm, the mean over its seeds.

    `curves[algorithm]` holds the metrics of its runs, one per seed. With three seeds or more the
    band is one standard deviation to either side; with two it reaches from one to the other, since
    two points have no shape.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    if not any(metrics for runs in curves.values() for metrics in runs):
        raise InputError("There are no evaluated rounds to draw.")
    below = 0.3 + 0.3 * -(-len(curves) // 4)  # rows of the legend
    figure = Figure(figsize=(10, 4.4 + below), facecolor="white", layout="constrained")
    accuracy, loss = figure.subplots(1, 2)
    for axes, group, name in (
        (accuracy, "accuracy", "test accuracy"),
        (loss, "train_loss", "training loss"),
    ):
        for k, (algorithm, runs) in enumerate(curves.items()):
            look = {
                "color": COLOURS[k % len(COLOURS)],
                "ls": DASHES[k // len(COLOURS) % len(DASHES)],
            }
            _draw(axes, runs, group, algorithm, look)
        axes.set_title(name, size=11, color=INK, loc="left")
        axes.set_xlabel("round")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(SOFT)
        axes.tick_params(labelsize=9, colors=INK, length=3)
        axes.grid(color=PALE, lw=0.8)
        axes.set_axisbelow(True)
    accuracy.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    handles, labels = accuracy.get_legend_handles_labels()
    style = {
        "frameon": False,
        "fontsize": 9,
        "title": _band_words(curves),
        "title_fontsize": 9,
    }
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(4, len(labels)), **style
    )
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def _band_words(curves: Mapping[str, Runs]) -> str:
    seeds = {len(runs) for runs in curves.values()}
    if seeds == {1}:
        return "one seed"
    two, more = 2 in seeds, max(seeds) > 2
    band = "one standard deviation to either side" if more else "both seeds"
    return f"mean over seeds, band: {band}" + (
        ", or both of two seeds" if two and more else ""
    )


def averaged(runs: Runs, group: str) -> tuple[list[int], np.ndarray]:
    """The rounds that were measured with every seed, and the values: (rounds, seeds)."""
    values = [
        {m["round"]: m[group]["mean"] for m in metrics if m[group]["mean"] is not None}
        for metrics in runs
    ]
    rounds = sorted(set.intersection(*map(set, values))) if values else []
    return rounds, np.array(
        [[one[t] for one in values] for t in rounds], dtype=np.float64
    )


def _draw(
    axes: Axes, runs: Runs, group: str, label: str, look: Mapping[str, Any]
) -> None:
    rounds, values = averaged(runs, group)
    if not rounds:
        return
    mean = values.mean(axis=1)
    axes.plot(
        rounds,
        mean,
        lw=1.8,
        marker="o" if len(rounds) == 1 else "",
        label=label,
        **look,
    )
    if values.shape[1] == 2:
        low, high = values.min(axis=1), values.max(axis=1)
    elif values.shape[1] > 2:
        spread = values.std(axis=1, ddof=1)
        low, high = mean - spread, mean + spread
    else:
        return
    axes.fill_between(rounds, low, high, color=look["color"], alpha=0.15, lw=0)
