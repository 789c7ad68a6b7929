"""Pictures of docs/cross-gradients.md, narrow enough for a phone: drawn by tools/redraw.py.

What noise leaves of a cosine; what looking at cosines is worth; where cross-gradients lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from dpdl.errors import InputError
from dpdl.folder.calibration_study import CosineLine
from dpdl.pages.calibration_leads import (
    Lead,
    Study,
    leads,
    named,
    noise,
    points,
    ratio,
)
from dpdl.pages.captions import Words, captioned
from dpdl.pages.figures import BLUE, INK, ORANGE, SOFT, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 5.2
"""Inches; a phone shows text of 10 points as large as its own."""
SHADES = {1: ORANGE, 0: "#9AA3AE", -1: BLUE}
SAID = {1: "ahead in every seed", 0: "undecided", -1: "behind in every seed"}
TASKS = {"digits-linear": "o", "mnist-linear": "s", "mnist-mlp": "D"}
RANGE = 10.0
"""Points at which the colour of a tile is full."""


# ------------------------------------------------------------------ cosines
def draw_cosines(lines: Sequence[CosineLine], path: Path) -> Path:
    """Write the picture of `cosines_figure`."""
    return save(cosines_figure(lines), path)


def cosines_figure(lines: Sequence[CosineLine]) -> Figure:
    """What is left of the cosine, by signal to noise: measured, and s / (1 + s)."""
    from matplotlib.figure import Figure

    if not lines:
        raise InputError("There are no measured cosines to draw.")
    figure = Figure(figsize=(WIDE, 6.4), facecolor="white", layout="constrained")
    left, used = figure.subplots(2, 1, sharex=True)
    for task, mark in TASKS.items():
        some = [line for line in lines if line.task == task]
        s = [ratio(line) for line in some]
        clear = [k for k, line in enumerate(some) if abs(line.clean_cosine) > 0.05]
        kept = [some[k].noisy_cosine / some[k].clean_cosine for k in clear]
        dots = {"marker": mark, "lw": 0, "ms": 4.5, "color": BLUE, "alpha": 0.55}
        left.plot([s[k] for k in clear], kept, **dots, label=task)
        used.plot(s, [line.noisy_coefficient for line in some], **dots)
    grid = np.geomspace(min(map(ratio, lines)), max(map(ratio, lines)), 200)
    left.plot(grid, grid / (1 + grid), color=ORANGE, lw=1.8, label="s / (1 + s)")
    left.set_ylabel("cosine seen / cosine without noise")
    left.set_ylim(-0.35, 1.25)
    used.axhline(0.5, color=ORANGE, lw=1.8)
    used.set_ylabel("coefficient")
    used.set_xlabel("s: squared length of gradient / of its noise")
    for axes in (left, used):
        axes.set_xscale("log")
        style(axes, grid=True)
    left.legend(frameon=False, fontsize=9, loc="upper left")
    words = "One dot: neighbours' mean in one round. Below s = 0.1 little is seen."
    captioned(figure, Words("What noise leaves of the cosine", words))
    return figure


# ------------------------------------------------------------------ leads
def draw_leads(study: Study, others: Sequence[str], path: Path) -> Path:
    """Write the picture of `leads_figure`."""
    return save(leads_figure(study, others), path)


def leads_figure(study: Study, others: Sequence[str]) -> Figure:
    """One dot per setting: points by which `dpdl-sound` leads, by epsilon."""
    from matplotlib.figure import Figure

    found = [leads(study, other) for other in others]
    if not any(found):
        raise InputError("There are no leads to draw.")
    epsilons = sorted({one.setting.epsilon or np.inf for some in found for one in some})
    size = (WIDE, 2.6 * len(others) + 1.0)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    panels = figure.subplots(len(others), 1, sharex=True, squeeze=False)[:, 0]
    for axes, other, some in zip(panels, others, found, strict=True):
        _dots(axes, some, epsilons)
        axes.set_title(f"over {other}", size=11, color=INK, loc="left")
        axes.set_ylabel("lead in points")
    labels = [noise(None if np.isinf(value) else value) for value in epsilons]
    panels[-1].set_xticks(range(len(epsilons)), labels)
    panels[-1].set_xlabel("epsilon, proven")
    panels[0].legend(frameon=False, fontsize=9, loc="lower left")
    words = "One dot: a setting, mean of its seeds. The scale is linear within 1 point."
    captioned(figure, Words("Lead of dpdl-sound at one epsilon", words))
    return figure


def _dots(axes: Axes, some: Sequence[Lead], epsilons: Sequence[float]) -> None:
    axes.axhline(0, color=INK, lw=1)
    for sure, colour in SHADES.items():
        chosen = [one for one in some if one.sure == sure]
        at = [epsilons.index(one.setting.epsilon or np.inf) for one in chosen]
        beside = [0.6 * (((7 * k) % 19) / 18 - 0.5) for k in range(len(chosen))]
        axes.plot(
            np.add(at, beside),
            [one.mean for one in chosen],
            marker="o",
            lw=0,
            ms=4,
            color=colour,
            alpha=0.75,
            label=SAID[sure],
        )
    axes.set_yscale("symlog", linthresh=1)
    axes.set_yticks([-30, -10, -3, -1, 0, 1, 3, 10, 30])
    axes.yaxis.set_major_formatter(lambda x, _: f"{x:+g}" if x else "0")
    axes.set_ylim(-40, 70)
    style(axes, grid=True)


# ------------------------------------------------------------------ tiles
def draw_tiles(study: Study, other: str, task: str, path: Path) -> Path:
    """Write the picture of `tiles_figure`."""
    return save(tiles_figure(study, other, task), path)


def tiles_figure(study: Study, other: str, task: str) -> Figure:
    """Leads over one algorithm on one task: a panel per division of the records."""
    from matplotlib.figure import Figure

    some = [one for one in leads(study, other) if one.setting.task == task]
    if not some:
        raise InputError(f"There are no leads over {other} on {task} to draw.")
    divisions = sorted({one.setting.alpha_d for one in some})
    places = sorted({(one.setting.graph, one.setting.agents) for one in some})
    epsilons = sorted({one.setting.epsilon or np.inf for one in some})
    size = (WIDE, (0.3 * len(places) + 0.55) * len(divisions) + 1.3)
    figure = Figure(figsize=size, facecolor="white", layout="constrained")
    panels = figure.subplots(len(divisions), 1, sharex=True, squeeze=False)[:, 0]
    for axes, division in zip(panels, divisions, strict=True):
        table = np.full((len(places), len(epsilons)), np.nan)
        for one in (one for one in some if one.setting.alpha_d == division):
            s = one.setting
            row = places.index((s.graph, s.agents))
            table[row, epsilons.index(s.epsilon or np.inf)] = one.mean
        _tiles(axes, table)
        axes.set_yticks(range(len(places)), [f"{g} of {n}" for g, n in places])
        title = "sorted by label" if division == 0 else f"alpha_d {named(division)}"
        axes.set_title(title, size=10, color=INK, loc="left")
    labels = [noise(None if np.isinf(value) else value) for value in epsilons]
    panels[-1].set_xticks(range(len(epsilons)), labels)
    panels[-1].set_xlabel("epsilon, proven")
    mean = fmean(one.mean for one in some)
    words = f"Points of accuracy, agents' own models; {task}; mean {points(mean)}."
    captioned(figure, Words(f"dpdl-sound over {other}", words))
    return figure


def _tiles(axes: Axes, table: np.ndarray) -> None:
    axes.imshow(table, cmap="PuOr_r", vmin=-RANGE, vmax=RANGE, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            colour = "white" if abs(value) > 0.7 * RANGE else INK
            text = points(float(value))
            axes.text(column, row, text, size=9, color=colour, ha="center", va="center")
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK, length=0)
    axes.set_facecolor("#F3F4F6")
    axes.grid(visible=False)
    axes.xaxis.label.set_color(SOFT)
