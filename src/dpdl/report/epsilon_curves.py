"""Pictures of what is given away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.report.figures import BLUE, INK, ORANGE, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, "#009E73", "#CC79A7", "#56B4E9")


def draw_epsilon(
    rounds: Sequence[int],
    proven: Mapping[str, Sequence[float]],
    claimed: Sequence[float],
    path: Path,
    title: str,
) -> Path:
    """Write the picture of `epsilon_figure`."""
    return save(epsilon_figure(rounds, proven, claimed, title), path)


def epsilon_figure(
    rounds: Sequence[int],
    proven: Mapping[str, Sequence[float]],
    claimed: Sequence[float],
    title: str,
) -> Figure:
    """Proven epsilon over rounds, one line per threat model, and Theorem 1's claim dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for (name, values), colour in zip(proven.items(), COLOURS, strict=False):
        axes.plot(rounds, values, color=colour, linewidth=2, label=f"proven, {name}")
    if claimed:
        axes.plot(
            rounds,
            claimed,
            color=ORANGE,
            linewidth=2,
            linestyle="--",
            label="claimed by Theorem 1",
        )
    axes.set_title(title, color=INK, loc="left")
    axes.set_xlabel("round")
    axes.set_ylabel("epsilon")
    axes.set_ylim(bottom=0)
    axes.grid(color=PALE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.legend(frameon=False)
    return figure
