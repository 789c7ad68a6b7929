"""How well members and others are separated: ROC curves on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError
from dpdl.report.figures import BLUE, INK, ORANGE, PALE, SOFT, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Name -> false positive rates, ascending, and true positive rates."""

LOOKS = [
    (dash, colour)
    for dash, colour in product(
        ("-", "--", ":"), (BLUE, ORANGE, "#009E73", "#CC79A7", INK)
    )
]
LOWEST = 1e-6


def draw_roc(curves: Curves, title: str, path: str | Path) -> Path:
    """Write the picture of `roc_figure`."""
    return save(roc_figure(curves, title), path)


def roc_figure(curves: Curves, title: str) -> Figure:
    """True against false positive rates.

    What matters is at low false positive rates, so both axes are logarithmic.

    A rate of zero is drawn at the edge. The diagonal is guessing.
    """
    from matplotlib.figure import Figure

    if not curves:
        raise InputError("There are no curves to draw.")
    if len(curves) > len(LOOKS):
        raise InputError(
            f"At most {len(LOOKS)} curves can be distinguished, not {len(curves)}."
        )
    checked = {name: _checked(name, *curve) for name, curve in curves.items()}
    low = _lowest(list(checked.values()))
    figure = Figure(figsize=(5.6, 5.8), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    axes.plot([low, 1], [low, 1], color=SOFT, lw=1, ls=(0, (4, 3)), label="guessing")
    for (name, (fpr, tpr)), (dash, colour) in zip(checked.items(), LOOKS, strict=False):
        line = np.maximum([fpr, tpr], low)
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
    _frame(axes, low)
    figure.suptitle(title, size=12, weight="bold", color=INK, parse_math=False)
    return figure


def _frame(axes: Axes, low: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(low, 1), ylim=(low, 1), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=9, colors=INK, length=3)
    axes.set_axisbelow(True)
    axes.grid(color=PALE, lw=0.8)
    for text in axes.legend(frameon=False, fontsize=9, loc="lower right").get_texts():
        text.set_parse_math(False)


def _lowest(curves: list[npt.NDArray[np.float64]]) -> float:
    """The power of ten at or below the smallest rate that is not zero, 0.01 at most."""
    rates = np.concatenate([curve.ravel() for curve in curves])
    smallest = float(rates[rates > 0].min(initial=0.01))
    return max(LOWEST, 10.0 ** math.floor(math.log10(smallest) + 1e-9))


def _checked(
    name: str, fpr: Sequence[float], tpr: Sequence[float]
) -> npt.NDArray[np.float64]:
    if len(fpr) != len(tpr) or len(fpr) < 2:
        raise InputError(
            f"Curve {name!r} needs as many true as false positive rates, two at least."
        )
    curve = np.array([fpr, tpr], np.float64)
    if not ((curve >= 0) & (curve <= 1)).all() or (np.diff(curve) < 0).any():
        raise InputError(f"The rates of curve {name!r} must be ascending, from 0 to 1.")
    return curve
