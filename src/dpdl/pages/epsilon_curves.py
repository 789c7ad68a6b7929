"""Pictures of what is given away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpdl.pages.captions import Words, captioned
from dpdl.pages.end_labels import End, label_ends, settle
from dpdl.pages.figures import BLUE, INK, ORANGE, SOFT, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, "#009E73", "#C2589A", INK)
MARKERS = "oD^s"
"""Of the threat models; they are no algorithms, and all lines of proofs are solid."""
CLAIM = "claimed by Theorem 1"


class EpsilonCurves(NamedTuple):
    """Epsilon over rounds: proven against each listener, and as claimed (empty: no claim)."""

    rounds: Sequence[int]
    proven: Mapping[str, Sequence[float]]
    claimed: Sequence[float] = ()


def draw_epsilon(curves: EpsilonCurves, path: Path, title: str, detail: str) -> Path:
    """Write the picture of `epsilon_figure`."""
    return save(epsilon_figure(curves, title, detail), path)


def epsilon_figure(curves: EpsilonCurves, title: str, detail: str) -> Figure:
    """Proven epsilon over rounds, one line per threat model, and Theorem 1's claim dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    ends = []
    for k, (name, values) in enumerate(curves.proven.items()):
        look = (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)], "-")
        ends.append(_line(axes, curves.rounds, values, f"proven, {name}", look))
    if curves.claimed:
        look = (ORANGE, "v", "--")
        ends.append(_line(axes, curves.rounds, curves.claimed, CLAIM, look))
    axes.set_xlabel("round")
    axes.set_ylabel("epsilon")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.margins(x=0.02)
    style(axes, grid=True)
    if not ends:
        axes.text(
            0.5,
            0.5,
            "nothing is proven",
            color=SOFT,
            ha="center",
            transform=axes.transAxes,
        )
    captioned(figure, Words(title, detail))
    settle(figure)
    label_ends(axes, ends)
    return figure


def _line(
    axes: Axes,
    rounds: Sequence[int],
    values: Sequence[float],
    name: str,
    look: tuple[str, str, str],
) -> End:
    colour, marker, dash = look
    axes.plot(rounds, values, dash, color=colour, lw=2, marker=marker, ms=4, label=name)
    return End(rounds[-1], values[-1], name, colour)
