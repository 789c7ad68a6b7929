"""What is written can be read on its ground, light and dark."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dpdl.pages.theme import DARK, LIGHT, SHADES, variables
from tests.pages.eyes import contrast

WRITTEN = [
    ("ink", "ground"),
    ("soft", "ground"),
    ("link", "ground"),
    ("rust", "ground"),
    ("ink", "paper"),
    ("soft", "paper"),
    ("link", "paper"),
    ("ink", "blush"),
    ("red", "blush"),
    *(("ink", shade) for shade in SHADES),
]
"""Text and its ground."""
DRAWN = ["orange", "red", "link", "edge"]
"""Lines that mean something."""
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def test_both_grounds_have_the_same_colours() -> None:
    assert list(LIGHT) == list(DARK)
    assert len(SHADES) == 6


@themes
@pytest.mark.parametrize(("text", "ground"), WRITTEN)
def test_text_stands_out(theme: Mapping[str, str], text: str, ground: str) -> None:
    assert contrast(theme[text], theme[ground]) >= 4.5


@themes
@pytest.mark.parametrize("line", DRAWN)
def test_lines_stand_out(theme: Mapping[str, str], line: str) -> None:
    assert contrast(theme[line], theme["ground"]) >= 3


def test_variables_are_those_of_a_style_sheet() -> None:
    assert variables({"ink": "#222222", "below-0": "#FBE9DC"}) == (
        "--ink: #222222; --below-0: #FBE9DC;"
    )
