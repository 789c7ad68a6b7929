"""The name of an algorithm on a page, after a piece of its line as all pictures draw it."""

from __future__ import annotations

from typing import NamedTuple

from dpdl.pages.lines import SHAPES, Look
from dpdl.text import for_page


class LineKey(NamedTuple):
    """A name and its look, for a cell of a table."""

    name: str
    look: Look


def line_key(key: LineKey) -> str:
    """As HTML: a short line with a marker, and the name."""
    look = key.look
    dash = " ".join(f"{2 * length:g}" for length in look.dash)
    return (
        f'<span class="key" style="--light: {look.colour}; --dark: {look.dark}">'
        '<svg viewBox="-15 -5 30 10" aria-hidden="true">'
        f'<path d="M-15 0H15" stroke-dasharray="{dash or "none"}"/>'
        f'<path d="{SHAPES[look.marker].path}" transform="scale(4)"/></svg>'
        f"{for_page(key.name)}</span>"
    )
