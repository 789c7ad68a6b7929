"""Colours that can be told apart and read."""

from __future__ import annotations

import pytest

from dpdl.report.figures import BLUE, INK, PAPER, SOFT
from dpdl.report.look import BLUSH, RUST, SHADES


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        (INK, PAPER),
        (INK, BLUSH),
        (SOFT, "#FFFFFF"),
        (BLUE, "#FFFFFF"),
        (RUST, "#FFFFFF"),
        *((INK, colour) for colour in SHADES.values()),
    ],
)
def test_text_stands_out(text: str, ground: str) -> None:
    dark, light = sorted((luminance(text), luminance(ground)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5
