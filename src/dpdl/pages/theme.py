"""The colours of our pages, on a white and on a dark ground.

A page has each of them as a variable of its style, such as `var(--ink)`, which has the other value
where a reader prefers a dark ground. Everything that is drawn on a page should use them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpdl.pages.figures import BLUE, INK, ORANGE, PALE, PAPER

LIGHT: Mapping[str, str] = {
    "ground": "#FFFFFF",
    "ink": INK,  # text
    "soft": "#5F6772",  # text of less weight
    "pale": PALE,  # thin lines
    "edge": "#8A929E",  # lines that must be seen, such as that of a field
    "paper": PAPER,  # the ground of a sentence that stands out
    "link": BLUE,
    "orange": ORANGE,  # a line beside what epsilon does not cover
    "rust": "#9A4300",  # words about it
    "red": "#B3261E",  # a warning: its line, its heading
    "blush": "#FDECEA",  # and its ground
    "below-0": "#FBE9DC",
    "below-1": "#F6C9A6",
    "below-2": "#F0A970",
    "above-0": "#E1EFF8",
    "above-1": "#B3D6EC",
    "above-2": "#85BDE0",
}
"""Orange and blue, which all eyes tell apart, go from little to much. Ink is readable on each."""

DARK: Mapping[str, str] = {
    "ground": "#15191E",
    "ink": "#E6E9ED",
    "soft": "#A9B2BD",
    "pale": "#39424D",
    "edge": "#7A8592",
    "paper": "#1C2833",
    "link": "#73BDF5",
    "orange": "#FF8A4C",
    "rust": "#FFB38A",
    "red": "#FF8A80",
    "blush": "#3B1C1A",
    "below-0": "#3D2A1C",
    "below-1": "#5E3819",
    "below-2": "#7F4A1C",
    "above-0": "#16303F",
    "above-1": "#19455F",
    "above-2": "#1C5A80",
}

SHADES = tuple(name for name in LIGHT if name.startswith(("below", "above")))
"""Grounds of cells, and the names of their classes."""


def variables(colours: Mapping[str, str]) -> str:
    """Colours as variables of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
