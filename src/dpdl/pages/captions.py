"""What is written above and below a picture: a title, what is proven, and how to read it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from dpdl.pages.figures import INK, SOFT

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Words(NamedTuple):
    """What is written above a picture: a title, and what is proven."""

    title: str = ""
    detail: str = ""


TITLE, SMALL = 12.0, 9.5
"""Sizes of text, in points."""
EDGE, LINE = 0.12, 1.35
"""Space around texts in inches, and the distance of lines in their size."""
WIDE = 0.6
"""The mean width of a letter in its size, rather too large than too small."""


def captioned(figure: Figure, words: Words, foot: str = "") -> None:
    """Write the words at the top and a line at the foot; the rest of the layout gives way.

    The figure has a constrained layout. Long lines are broken.
    """
    width, height = figure.get_size_inches()
    y = height - EDGE
    for text, size, colour in zip(words, (TITLE, SMALL), (INK, SOFT), strict=True):
        if lines := _wrapped(text, width, size):
            _write(figure, lines, y / height, size, colour, "top")
            y -= _height(lines, size)
    below = _wrapped(foot, width, SMALL)
    bottom = EDGE / 2
    if below:
        _write(figure, below, EDGE / height, SMALL, SOFT, "bottom")
        bottom = EDGE + _height(below, SMALL)
    engine = figure.get_layout_engine()
    assert engine
    room = (0.0, bottom / height, 1.0, (y - bottom) / height)
    engine.set(rect=room)  # type: ignore[call-arg]


def _wrapped(text: str, width: float, size: float) -> str:
    letters = int(72 * (width - 2 * EDGE) / (WIDE * size))
    return "\n".join(textwrap.wrap(text, letters, break_on_hyphens=False))


def _height(words: str, size: float) -> float:
    return (words.count("\n") + 1) * LINE * size / 72


def _write(
    figure: Figure, words: str, y: float, size: float, colour: str, side: str
) -> None:
    figure.text(
        EDGE / figure.get_figwidth(),
        y,
        words,
        size=size,
        color=colour,
        weight="bold" if size == TITLE else "normal",
        va=side,
        linespacing=LINE / 1.1,
        parse_math=False,
    )
