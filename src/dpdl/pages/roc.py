"""How well members and others are separated: ROC curves on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.pages.captions import Words, captioned
from dpdl.pages.figures import BLUE, INK, ORANGE, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rates = npt.NDArray[np.float64]


class RocCurve(NamedTuple):
    """Rates of one score, ascending, and how many records they were counted on."""

    fpr: Sequence[float]
    tpr: Sequence[float]
    members: int | None = None  # None: not known
    non_members: int | None = None


Curves = Mapping[str, RocCurve]
"""By name."""

LOOKS = [
    (dash, colour)
    for dash, colour in product(
        ("-", "--", ":"), (BLUE, ORANGE, "#009E73", "#C2589A", INK)
    )
]
LOWEST = 1e-6
FEW = 4
"""More curves than these have no bands: they would cover each other."""
NORMAL = 1.959963984540054
"""Of a confidence of 95 %: so many standard deviations to either side."""


def draw_roc(curves: Curves, title: str, path: str | Path) -> Path:
    """Write the picture of `roc_figure`."""
    return save(roc_figure(curves, title), path)


def roc_figure(curves: Curves, title: str) -> Figure:
    """True against false positive rates.

    What matters is at low false positive rates, so both axes are logarithmic.

    A rate of zero is drawn at the edge. The diagonal is guessing. The band around a curve is the
    95 % interval of Wilson (1927) of each true positive rate, from its number of members.
    """
    from matplotlib.figure import Figure

    if not curves:
        raise InputError("There are no curves to draw.")
    if len(curves) > len(LOOKS):
        raise InputError(
            f"At most {len(LOOKS)} curves can be distinguished, not {len(curves)}."
        )
    checked = {name: _checked(name, one) for name, one in curves.items()}
    low = _lowest(list(checked.values()))
    tall = 6.2 + 0.2 * len(curves)
    figure = Figure(figsize=(5.6, tall), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.plot([low, 1], [low, 1], color=SOFT, lw=1, ls=(0, (4, 3)), label="guessing")
    for (name, rates), (dash, colour) in zip(checked.items(), LOOKS, strict=False):
        line = np.maximum(rates, low)
        axes.plot(
            *line,
            dash,
            color=colour,
            lw=1.8,
            drawstyle="steps-post",
            label=name,
            clip_on=False,
            zorder=3,
        )
        if (members := curves[name].members) and len(curves) <= FEW:
            below, above = np.maximum(interval(rates[1], members), low)
            axes.fill_between(
                line[0], below, above, step="post", color=colour, alpha=0.15, lw=0
            )
    _frame(axes, low)
    _legend(figure)
    captioned(figure, Words(title, counted(curves)))
    return figure


def counted(curves: Curves) -> str:
    """How many records the rates were counted on, and what the bands are."""
    pairs = {(one.members, one.non_members) for one in curves.values()}
    known = sorted((m, n) for m, n in pairs if m is not None and n is not None)
    if not known:
        return ""
    members, others = (_from_to(list(column)) for column in zip(*known, strict=True))
    text = f"{members} members and {others} non-members per curve."
    if len(curves) <= FEW:
        text += " Shaded: 95 % confidence of each true positive rate."
    return text


def _from_to(numbers: Sequence[int]) -> str:
    ends = sorted({min(numbers), max(numbers)})
    return " to ".join(f"{number:,}" for number in ends)


def interval(rates: Rates, count: int) -> Rates:
    """Ends of Wilson's 95 % interval of shares of `count` trials: (2, shares)."""
    square = NORMAL**2 / count
    middle = (rates + square / 2) / (1 + square)
    variance = rates * (1 - rates) / count + square / (4 * count)
    half = NORMAL * np.sqrt(variance) / (1 + square)
    return np.clip([middle - half, middle + half], 0, 1)


def _legend(figure: Figure) -> None:
    """Below the axes: names are long, and curves end in one corner."""
    legend = figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _frame(axes: Axes, low: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(low, 1), ylim=(low, 1), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=9, colors=INK, length=3)
    axes.set_axisbelow(True)
    axes.grid(color=PALE, lw=0.8)


def _lowest(curves: list[Rates]) -> float:
    """The power of ten at or below the smallest rate that is not zero, 0.01 at most."""
    rates = np.concatenate([curve.ravel() for curve in curves])
    smallest = float(rates[rates > 0].min(initial=0.01))
    return max(LOWEST, 10.0 ** math.floor(math.log10(smallest) + 1e-9))


def _checked(name: str, one: RocCurve) -> Rates:
    fpr, tpr = one.fpr, one.tpr
    if len(fpr) != len(tpr) or len(fpr) < 2:
        raise InputError(
            f"Curve {name!r} needs as many true as false positive rates, two at least."
        )
    curve = np.array([fpr, tpr], np.float64)
    if not ((curve >= 0) & (curve <= 1)).all() or (np.diff(curve) < 0).any():
        raise InputError(f"The rates of curve {name!r} must be ascending, from 0 to 1.")
    return curve
