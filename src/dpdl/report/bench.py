"""A picture of speeds: each way as a share of what the machine's matrix product reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpdl.report.figures import BLUE, INK, ORANGE, SOFT, save

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
    figure = Figure(figsize=(9, 0.6 * len(ways) + 1.8), facecolor="white", layout="constrained")
    axes = figure.subplots()
    colours = [ORANGE if name == NAMES["fused"] else BLUE for name, _ in ways]
    axes.barh([name for name, _ in ways], speeds, color=colours, height=0.6)
    for k, (speed, (_, us)) in enumerate(zip(speeds, ways, strict=True)):
        axes.text(speed * 1.05, k, f"{speed:.1f} GFLOP/s, {us:.0f} µs per sample", va="center", size=9, color=INK)
    axes.axvline(facts["peak_gflops"], color=SOFT, linestyle="--")
    axes.text(facts["peak_gflops"] * 0.97, -0.75, "matrix product", ha="right", va="center", size=9, color=SOFT)
    axes.set_xscale("log")
    axes.set_xlim(min(speeds) / 1.5, facts["peak_gflops"] * 1.3)
    axes.invert_yaxis()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("useful operations, GFLOP/s (logarithmic)")
    axes.set_title(f"Clipped per-sample gradients of LeNet, B = {facts['batch']}, {facts['cores']} cores", loc="left")
    return save(figure, path)
