"""Pictures of speed.

Gradients against the machine's matrix product, and the cost of rounds against the graph.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpdl.report.figures import BLUE, INK, ORANGE, PALE, SOFT, save

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*"
NAMES = {
    "fused": "dpdl, fused",
    "plain": "dpdl, plain",
    "torch_func": "torch.func",
    "opacus": "Opacus",
    "plain_backward": "no privacy: plain backward",
}


def draw_speeds(facts: dict[str, Any], path: Path) -> Path:
    """Useful operations per second of every way, under the machine's peak."""
    from matplotlib.figure import Figure

    ways = [(NAMES[name], us) for name, us in facts["us_per_sample"].items() if us]
    speeds = [2 * facts["multiply_adds"] / us / 1e3 for _, us in ways]  # GFLOP/s
    figure = Figure(
        figsize=(9, 0.6 * len(ways) + 1.8), facecolor="white", layout="constrained"
    )
    axes = figure.subplots()
    colours = [ORANGE if name == NAMES["fused"] else BLUE for name, _ in ways]
    axes.barh([name for name, _ in ways], speeds, color=colours, height=0.6)
    for k, (speed, (_, us)) in enumerate(zip(speeds, ways, strict=True)):
        inside = (
            speed > facts["peak_gflops"] / 8
        )  # or the words would cross the line of the peak
        where = (
            {"x": speed / 1.05, "ha": "right", "color": "white"}
            if inside
            else {"x": speed * 1.05, "color": INK}
        )
        axes.text(
            y=k,
            s=f"{speed:.1f} GFLOP/s, {us:.0f} µs per sample",
            va="center",
            size=9,
            **where,
        )
    axes.axvline(facts["peak_gflops"], color=SOFT, linestyle="--")
    axes.text(
        facts["peak_gflops"] * 0.97,
        -0.75,
        "matrix product",
        ha="right",
        va="center",
        size=9,
        color=SOFT,
    )
    axes.set_xscale("log")
    axes.set_xlim(min(speeds) / 1.5, facts["peak_gflops"] * 1.3)
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("useful operations, GFLOP/s (logarithmic)")
    axes.set_title(
        f"Clipped per-sample gradients of LeNet, B = {facts['batch']}, "
        f"{facts['cores']} cores",
        loc="left",
    )
    return save(figure, path)


def draw_costs(rows: list[dict[str, Any]], path: Path) -> Path:
    """Seconds per round against the number of agents, and where they go per edge."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault((row["algorithm"], row["graph"]), []).append(row)
    several = len({algorithm for algorithm, _ in lines}) > 1
    for k, ((algorithm, graph), of) in enumerate(lines.items()):
        of = sorted(of, key=lambda row: row["agents"])
        name, style = (
            f"{algorithm}, {graph}" if several else graph,
            {"marker": MARKERS[k % len(MARKERS)], "ms": 5},
        )
        colour = COLOURS[k % len(COLOURS)]
        seconds = [row["seconds_per_round"] for row in of]
        left.plot(
            [row["agents"] for row in of], seconds, color=colour, label=name, **style
        )
        right.plot(
            [row["edges"] for row in of], seconds, color=colour, label=name, **style
        )
    for axes, what in ((left, "agents"), (right, "edges, with self-loops")):
        axes.set(xscale="log", yscale="log", xlabel=what)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(color=PALE)
        axes.spines[["top", "right"]].set_visible(False)
    counts = sorted({row["agents"] for row in rows})
    left.set_xticks(counts, [f"{n:,}" for n in counts])
    left.minorticks_off()
    left.set_ylabel("seconds per round")
    left.legend(frameon=False, fontsize=8)
    figure.suptitle(
        f"Cost of a round, {rows[0]['model']}, B = {rows[0]['batch']}",
        x=0.01,
        ha="left",
    )
    return save(figure, path)
