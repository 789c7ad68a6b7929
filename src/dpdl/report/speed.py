"""Pictures of speed.

Gradients against the machine's matrix product, and the cost of rounds against the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpdl.folder.bench_results import GradientSpeeds, RoundCost
from dpdl.report.figures import BLUE, INK, ORANGE, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
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
    size = (9, 0.6 * len(ways) + 1.8)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    axes = figure.subplots()
    colours = [ORANGE if way.name == NAMES["fused"] else BLUE for way in ways]
    speeds = [way.speed for way in ways]
    axes.barh([way.name for way in ways], speeds, color=colours, height=0.6)
    peak = facts.peak_gflops
    for k, way in enumerate(ways):
        _label(axes, k, way, inside=way.speed > peak / 8)
    _mark_peak(axes, peak)
    axes.set_xscale("log")
    axes.set_xlim(min(speeds) / 1.5, peak * 1.3)
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("useful operations, GFLOP/s (logarithmic)")
    what = f"B = {facts.batch}, {facts.cores} cores"
    axes.set_title(f"Clipped per-sample gradients of LeNet, {what}", loc="left")
    return save(figure, path)


def measured_ways(facts: GradientSpeeds) -> list[Way]:
    """All ways that are available here, with their speeds."""
    found = []
    for name, us in facts.us_per_sample.items():
        if us:
            speed = 2 * facts.multiply_adds / us / 1e3
            found.append(Way(NAMES[name], us, speed))
    return found


def _label(axes: Axes, k: int, way: Way, inside: bool) -> None:
    """The numbers of a bar: inside of a long one, where the line of the peak is near."""
    text = f"{way.speed:.1f} GFLOP/s, {way.us:.0f} µs per sample"
    if inside:
        axes.text(
            way.speed / 1.05,
            k,
            text,
            va="center",
            size=9,
            ha="right",
            color="white",
        )
    else:
        axes.text(way.speed * 1.05, k, text, va="center", size=9, color=INK)


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

    figure = Figure(figsize=(11, 4.6), facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, line) in enumerate(cost_lines(rows).items()):
        style = {
            "color": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
        }
        seconds = [row.seconds_per_round for row in line]
        agents, edges = [row.agents for row in line], [row.edges for row in line]
        left.plot(agents, seconds, label=name, ms=5, **style)
        right.plot(edges, seconds, label=name, ms=5, **style)
    for axes, what in ((left, "agents"), (right, "edges, with self-loops")):
        axes.set(xscale="log", yscale="log", xlabel=what)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(color=PALE)
        axes.spines[["top", "right"]].set_visible(False)
    counts = sorted({row.agents for row in rows})
    left.set_xticks(counts, [f"{n:,}" for n in counts])
    left.minorticks_off()
    left.set_ylabel("seconds per round")
    left.legend(frameon=False, fontsize=8)
    title = f"Cost of a round, {rows[0].model}, B = {rows[0].batch}"
    figure.suptitle(title, x=0.01, ha="left")
    return save(figure, path)


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
