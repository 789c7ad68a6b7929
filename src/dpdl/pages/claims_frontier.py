"""Accuracy against proven epsilon: the paper's claims for DPDL, our best, and central training.

Central results are those that their authors report, for one server that has all records, with a
delta of 1e-5 where one is named:

- Tramer and Boneh, Differentially Private Learning Needs Better Features (or Much More Data), 2021:
  98.7 on MNIST and 69.3 on CIFAR-10 at epsilon 3, small networks on scattering features.
- De, Berrada, Hayes, Smith, Balle, Unlocking High-Accuracy Differentially Private Image
  Classification through Scale, 2022: 81.4 on CIFAR-10 at epsilon 8, a wide residual network.
- Tang, Panda, Sehwag, Mittal, Differentially Private Image Classification by Learning Priors from
  Random Processes, 2023: 72.3 on CIFAR-10 at epsilon 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdl.errors import InputError
from dpdl.pages.captions import Words, captioned
from dpdl.pages.figures import BLUE, INK, ORANGE, SOFT, save
from dpdl.pages.frontier import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

GREEN = "#00795C"
LOOKS = {"complete": (BLUE, "o"), "bipartite": (GREEN, "^"), "ring": (ORANGE, "s")}
"""Colour and mark of a graph."""
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
ROOM = 0.62
"""The share of an octave that the claims of one epsilon take."""


class Place(NamedTuple):
    """A claim of the paper, and what was reached at that epsilon, proven; in percent."""

    dataset: str
    graph: str
    agents: int
    alpha_d: float
    epsilon: float
    claimed: float
    ours: float | None  # None: not measured


class Central(NamedTuple):
    """A published result of training in one place, in percent."""

    dataset: str
    epsilon: float
    accuracy: float
    source: str
    below: bool = False  # whether the source is written below


CENTRAL = (
    Central("mnist", 3.0, 98.7, "Tramèr, Boneh 2021"),
    Central("cifar10", 1.0, 72.3, "Tang et al. 2023"),
    Central("cifar10", 3.0, 69.3, "Tramèr,\nBoneh 2021", below=True),
    Central("cifar10", 8.0, 81.4, "De et al. 2022"),
)


def draw_claims(places: Sequence[Place], path: Path, words: Words) -> Path:
    """Write the picture of `claims_figure`."""
    return save(claims_figure(places, words), path)


def claims_figure(places: Sequence[Place], words: Words) -> Figure:
    """One panel per data set; a claim stands over its epsilon, hollow, and ours over it, filled."""
    from matplotlib.figure import Figure

    if not places:
        raise InputError("There are no claims to draw.")
    datasets = [name for name in NAMES if any(one.dataset == name for one in places)]
    figure = Figure(
        figsize=(6.2 * len(datasets), 5.4), facecolor="white", layout="constrained"
    )
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(panels, datasets, strict=True):
        some = [one for one in places if one.dataset == dataset]
        _panel(axes, some, [one for one in CENTRAL if one.dataset == dataset])
        axes.set_title(NAMES[dataset], size=11, color=INK, loc="left")
    panels[0].set_ylabel("test accuracy in percent")
    _legend(figure, sorted({one.graph for one in places}))
    captioned(figure, words)
    return figure


def _panel(axes: Axes, places: Sequence[Place], central: Sequence[Central]) -> None:
    for place in places:
        _pair(axes, place, _at(place, places))
    for one in central:
        axes.plot(
            *([one.epsilon], [one.accuracy]),
            **_mark(INK, "D", INK, 6.5),
            gid="central",
        )
        axes.annotate(
            one.source,
            (one.epsilon, one.accuracy),
            xytext=(0, -8 if one.below else 8),
            textcoords="offset points",
            ha="center",
            va="top" if one.below else "bottom",
            fontsize=8.5,
            color=INK,
        )
    epsilons = sorted(
        {one.epsilon for one in central} | {one.epsilon for one in places}
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks(epsilons, [f"{value:g}" for value in epsilons])
    axes.set_xticks([], minor=True)
    axes.set_xlim(epsilons[0] / 2**0.6, epsilons[-1] * 2**0.6)
    axes.margins(y=0.09)
    axes.set_xlabel("epsilon (ours and central: proven, paper's: claimed)")
    styled(axes)


def _pair(axes: Axes, place: Place, at: float) -> None:
    colour, mark = LOOKS[place.graph]
    if place.ours is not None:
        axes.plot(
            [at, at], [place.claimed, place.ours], color=colour, lw=0.6, gid="way"
        )
        axes.plot([at], [place.ours], **_mark(colour, mark, colour), gid="ours")
    axes.plot([at], [place.claimed], **_mark(colour, mark, "white"), gid="claim")


def _at(place: Place, places: Sequence[Place]) -> float:
    """Beside each other: graphs, in each of them numbers of agents, then alpha_d."""
    order = list(LOOKS)
    group = sorted(
        (order.index(one.graph), one.agents, one.alpha_d)
        for one in places
        if one.epsilon == place.epsilon
    )
    k = group.index((order.index(place.graph), place.agents, place.alpha_d))
    return place.epsilon * 2 ** (ROOM * ((k + 0.5) / len(group) - 0.5))


def _mark(colour: str, mark: str, face: str, size: float = 4.2) -> dict[str, Any]:
    return {
        "color": colour,
        "marker": mark,
        "mfc": face,
        "ms": size,
        "mew": 0.9,
        "lw": 0,
    }


def _legend(figure: Figure, graphs: Sequence[str]) -> None:
    handles = [
        _handle(name, colour, mark, colour)
        for name, (colour, mark) in LOOKS.items()
        if name in graphs
    ]
    handles += [
        _handle("hollow: the paper's claim", SOFT, "o", "white"),
        _handle("filled: our best", SOFT, "o", SOFT),
        _handle("central, published", INK, "D", INK),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9
    )


def _handle(label: str, colour: str, mark: str, face: str) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **_mark(colour, mark, face, 6.0))
