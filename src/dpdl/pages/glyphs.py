"""What a picture can show of names from outside.

Matplotlib would warn of each glyph that its font lacks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dpdl.text import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOX = "□"


def make_drawable(figure: Figure) -> None:
    """Control characters become escapes, and a character that the font does not have a box."""
    from matplotlib.font_manager import findfont
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text) and not _harmless(text.get_text()):
            there = _characters(str(findfont(text.get_fontproperties())))
            text.set_text(drawable(text.get_text(), there))


def _harmless(text: str) -> bool:
    return text.isascii() and text == plain(text)


def drawable(text: str, there: frozenset[int]) -> str:
    """The text in characters that are there."""
    return "".join(
        one if one.isspace() or ord(one) in there else BOX for one in plain(text)
    )


@lru_cache
def _characters(font: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())
