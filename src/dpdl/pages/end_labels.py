"""Names at the ends of lines, where the eye is when it wants to know which line it followed.

Names that would overlap move apart, and a thin line leads to the end that they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpdl.pages.glyphs import make_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

SIZE = 9.0
"""Of a name, in points."""
APART = 1.25 * SIZE
"""From one name to the next, in points."""
GAP = 10.0
"""From the frame to a name, in points."""

EARLY = 0.85
"""A line that ends further to the left, as a share of the axes, ends early."""
NEAR = 3.0
"""A name that is further from its line, in points, is led to it."""

Heights = npt.NDArray[np.float64]


class End(NamedTuple):
    """Where a line ends, in the units of its axes, and what it is."""

    x: float
    y: float
    name: str
    colour: str


def needed(count: int) -> float:
    """The height of axes, in inches, that so many names have room beside."""
    return count * APART / 72


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write the names of lines that end at the right to the right of the axes.

    Each is as near to its line as others allow. A line that ends earlier has its name at its end.
    """
    outside = [end for end in ends if _share(axes, end) > EARLY]
    for end in ends:
        if end not in outside:
            _write(axes, end, (6, -8), "offset points", False)
    if outside:
        _label_beside(axes, outside)


def _label_beside(axes: Axes, ends: Sequence[End]) -> None:
    from matplotlib.transforms import offset_copy

    high = _height(axes)
    wanted = np.array([_points(axes, end) for end in ends])
    beside = offset_copy(
        axes.transAxes, axes.get_figure(root=True), GAP, units="points"
    )
    for end, y, at in zip(ends, wanted, spread(wanted, high), strict=True):
        _write(axes, end, (1, at / high), beside, bool(abs(at - y) > NEAR))


def _write(
    axes: Axes,
    end: End,
    place: tuple[float, float],
    units: str | Transform,
    led: bool,
) -> None:
    axes.annotate(
        end.name,
        (end.x, end.y),
        place,
        textcoords=units,
        size=SIZE,
        color=end.colour,
        va="center_baseline",
        annotation_clip=False,
        parse_math=False,
        arrowprops=_leader(end.colour) if led else None,
    )


def _leader(colour: str) -> dict[str, object]:
    """The line from the left of a name to its end."""
    return {
        "relpos": (0, 0.5),
        "arrowstyle": "-",
        "color": colour,
        "linewidth": 0.6,
        "alpha": 0.7,
        "shrinkA": 1,
        "shrinkB": 3,
    }


def spread(wanted: Heights, high: float) -> Heights:
    """Heights that are `APART`, from 0 to `high` if there is room, and near those wanted.

    The order stays. A group of names that would overlap is centred on what its members want.
    """
    order = np.argsort(wanted, kind="stable")
    groups: list[list[float]] = []  # what the members want, the lowest first
    for y in wanted[order]:
        groups.append([float(y)])
        while len(groups) > 1 and _top(groups[-2], high) + APART > _foot(
            groups[-1], high
        ):
            last = groups.pop()
            groups[-1] += last
    found = np.empty(len(wanted))
    heights = [
        _foot(group, high) + APART * k for group in groups for k in range(len(group))
    ]
    found[order] = heights
    return found


def _foot(group: Sequence[float], high: float) -> float:
    """Where the lowest name of a group stands."""
    long = APART * (len(group) - 1)
    middle = float(np.mean(group))
    return max(min(middle - long / 2, high - long), 0.0)


def _top(group: Sequence[float], high: float) -> float:
    return _foot(group, high) + APART * (len(group) - 1)


# ------------------------------------------------------------------ where things are
def settle(figure: Figure) -> None:
    """Lay the figure out, so that it is known where its axes are."""
    make_drawable(figure)
    figure.draw_without_rendering()


def _scale(axes: Axes) -> float:
    """Points of a pixel."""
    return 72 / float(axes.get_figure(root=True).dpi)  # type: ignore[union-attr]


def _height(axes: Axes) -> float:
    return float(axes.get_window_extent().height) * _scale(axes)


def _share(axes: Axes, end: End) -> float:
    """How far to the right a line ends: 0 is the left of the axes, and 1 their right."""
    place = axes.transData.transform((end.x, end.y))
    return float(axes.transAxes.inverted().transform(place)[0])


def _points(axes: Axes, end: End) -> float:
    """How high a line ends, in points above the foot of the axes."""
    _, y = axes.transData.transform((end.x, end.y))
    box = axes.get_window_extent()
    return float(np.clip(y - box.y0, 0, box.height)) * _scale(axes)
