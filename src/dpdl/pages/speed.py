"""Pictures of speed.

Gradients against the machine's matrix product, and the cost of rounds against the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpdl.folder.bench_results import GradientSpeeds, RoundCost
from dpdl.pages.captions import Words, captioned
from dpdl.pages.end_labels import End, label_ends, settle
from dpdl.pages.figures import BLUE, INK, ORANGE, SOFT, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, "#009E73", "#C2589A", "#B98900", INK)
MARKERS = "osD^vPX*"
NAMES = {
    "fused": "dpdl, fused",
    "plain": "dpdl, plain",
    "torch_func": "torch.func",
    "opacus": "Opacus",
    "plain_backward": "no privacy: plain backward",
}


class Way(NamedTuple):
    """A way to compute gradients, as it is drawn."""

    name: str
    us: float  # microseconds per sample
    speed: float  # useful operations, GFLOP/s


def draw_speeds(facts: GradientSpeeds, path: Path) -> Path:
    """Useful operations per second of every way, under the machine's peak."""
    from matplotlib.figure import Figure

    ways = measured_ways(facts)
    size = (9, 0.5 * len(ways) + 1.7)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    axes = figure.subplots()
    peak = facts.peak_gflops
    for k, way in enumerate(ways):
        _dot(axes, k, way, way.name == NAMES["fused"], left=way.speed > peak / 8)
    _mark_peak(axes, peak)
    axes.set_yticks(range(len(ways)), [way.name for way in ways])
    axes.set_ylim(len(ways) - 0.5, -0.9)
    axes.set_xscale("log")
    axes.set_xlim(min(way.speed for way in ways) / 1.5, peak * 1.3)
    axes.xaxis.set_major_formatter("{x:g}")
    style(axes, grid=True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.set_xlabel("useful operations, GFLOP/s (logarithmic)")
    what = f"B = {facts.batch}, {facts.cores} cores"
    captioned(figure, Words(f"Clipped per-sample gradients of LeNet, {what}"))
    return save(figure, path)


def measured_ways(facts: GradientSpeeds) -> list[Way]:
    """All ways that are available here, with their speeds."""
    found = []
    for name, us in facts.us_per_sample.items():
        if us:
            speed = 2 * facts.multiply_adds / us / 1e3
            found.append(Way(NAMES[name], us, speed))
    return found


def _dot(axes: Axes, k: int, way: Way, ours: bool, left: bool) -> None:
    """A dot with its numbers: to its left where the line of the peak is near.

    A logarithmic axis has no zero, from which a bar would have to begin.
    """
    look = (ORANGE, "D") if ours else (BLUE, "o")
    axes.plot([way.speed], [k], color=look[0], marker=look[1], ms=9, lw=0, zorder=3)
    axes.annotate(
        f"{way.speed:.1f} GFLOP/s, {way.us:.0f} µs per sample",
        (way.speed, k),
        (-9 if left else 9, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center_baseline",
        size=9,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def _mark_peak(axes: Axes, peak: float) -> None:
    axes.axvline(peak, color=SOFT, linestyle="--")
    axes.text(
        peak * 0.97,
        -0.75,
        "matrix product",
        ha="right",
        va="center",
        size=9,
        color=SOFT,
    )


def draw_costs(rows: Sequence[RoundCost], path: Path) -> Path:
    """Seconds per round against the number of agents, and against the number of edges."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    ends: list[tuple[End, End]] = []
    for k, (name, line) in enumerate(cost_lines(rows).items()):
        look = _look(k)
        seconds = [row.seconds_per_round for row in line]
        agents, edges = [row.agents for row in line], [row.edges for row in line]
        left.plot(agents, seconds, label=name, ms=5, **look)
        right.plot(edges, seconds, label=name, ms=5, **look)
        colour, last = str(look["color"]), seconds[-1]
        ends.append(
            (End(agents[-1], last, name, colour), End(edges[-1], last, name, colour))
        )
    for axes, what in ((left, "agents"), (right, "edges, with self-loops")):
        axes.set(xscale="log", yscale="log", xlabel=what)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        style(axes, grid=True)
    counts = sorted({row.agents for row in rows})
    left.set_xticks(counts, [f"{n:,}" for n in counts])
    left.tick_params(axis="x", which="minor", bottom=False)
    left.set_ylabel("seconds per round")
    title = f"Cost of a round, {rows[0].model}, B = {rows[0].batch}"
    captioned(figure, Words(title))
    settle(figure)
    label_ends(left, [end for end, _ in ends])
    label_ends(right, [end for _, end in ends])
    return save(figure, path)


def _look(k: int) -> dict[str, str]:
    """Of graph number k: graphs are no algorithms, and have looks of their own."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": MARKERS[k % len(MARKERS)],
        "linestyle": ("-", "--", ":")[k // len(COLOURS) % 3],
    }


def cost_lines(rows: Sequence[RoundCost]) -> dict[str, list[RoundCost]]:
    """One line per graph, and per algorithm if there are several; the fewest agents first."""
    several = len({row.algorithm for row in rows}) > 1
    lines: dict[str, list[RoundCost]] = {}
    for row in sorted(rows, key=lambda row: row.agents):
        lines.setdefault(_line_name(row, several), []).append(row)
    order = dict.fromkeys(_line_name(row, several) for row in rows)
    return {name: lines[name] for name in order}


def _line_name(row: RoundCost, several: bool) -> str:
    return f"{row.algorithm}, {row.graph}" if several else row.graph
