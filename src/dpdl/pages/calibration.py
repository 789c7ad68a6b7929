"""How much of its own gradient an agent adds to a neighbour's: DPDL's coefficients over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpdl.algorithms import named
from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.pages.captions import Words, captioned
from dpdl.pages.figures import BLUE, INK, ORANGE, save
from dpdl.pages.frontier import styled
from dpdl.pages.page import PagePart, private, public, wide_picture
from dpdl.pages.training_curves import MARKS, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CALIBRATION = {"coefficient": (BLUE, (0.25, 0.75)), "cosine": (ORANGE, (-1.0, 1.0))}
"""Colour, and the range that can occur: noise around the middle must not look like a trend."""
Measured = Sequence[Metrics]


def calibration_figure(metrics: Measured) -> Figure:
    """DPDL's mean coefficient and mean cosine over the rounds in which both were measured."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rounds = _calibrated(metrics)
    if not rounds:
        raise InputError("There are no coefficients to draw.")
    figure = Figure(figsize=(10, 3.8), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(CALIBRATION))
    for axes, (name, (colour, ends)) in zip(panels, CALIBRATION.items(), strict=True):
        at = [m.round for m in rounds]
        values = [m.diagnostics[name] for m in rounds]
        every = -(-len(at) // MARKS)
        axes.plot(at, values, color=colour, lw=1.8, marker="o", ms=4, markevery=every)
        axes.set_ylim(*ends)
        axes.set_title(f"mean {name}", size=11, color=INK, loc="left")
        axes.set_xlabel("round")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=STEPS))
        styled(axes)
    captioned(figure, Words("Calibration"))
    return figure


def _calibrated(metrics: Measured) -> list[Metrics]:
    def complete(m: Metrics) -> bool:
        return all(m.diagnostics.get(name) is not None for name in CALIBRATION)

    return list(filter(complete, metrics))


def calibration(algorithm: str, metrics: Measured) -> PagePart | None:
    """Public for dpdl-sound only, which computes both from perturbed gradients."""
    rounds = _calibrated(metrics)
    if not rounds:
        return None
    first, last = rounds[0], rounds[-1]
    words = (
        "Mean calibration coefficient and mean cosine over the rounds; the coefficient "
        f"is {first.diagnostics['coefficient']:.3f} in round {first.round} and "
        f"{last.diagnostics['coefficient']:.3f} in round {last.round}."
    )
    caption = (
        "How much of an agent's own gradient is added to a neighbour's: the "
        "coefficient is 1 / (1 + exp(cosine)), 0.5 for gradients that have nothing in "
        "common. Mean over agents and their neighbours."
    )
    with TemporaryDirectory() as place:
        html = wide_picture(
            save(calibration_figure(metrics), Path(place) / "calibration.png"),
            words,
            caption,
        )
    return (
        public(html)
        if "cosine" in named(algorithm).kind.public_diagnostics
        else private("cosines and calibration coefficients", html)
    )
