"""A name that the font of pictures lacks is drawn as boxes, without a word on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from dpdl.pages.end_labels import settle
from dpdl.pages.figures import save
from dpdl.pages.glyphs import drawable, make_drawable


def titled(title: str) -> Figure:
    figure = Figure()
    figure.add_subplot().set_title(title)
    return figure


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("病院.npz, ring", "□□.npz, ring"),
        ("a\x00\x1b\u202eb", r"a\x00\x1b\u202eb"),
        ("ε ± 0.5 größer", "ε ± 0.5 größer"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_a_title_has_only_what_can_be_drawn(title: str, shown: str) -> None:
    figure = titled(title)
    make_drawable(figure)
    assert figure.axes[0].get_title() == shown


def test_a_character_that_is_there_stays() -> None:
    assert drawable("ab c", frozenset(map(ord, "ab"))) == "ab □"


def test_nothing_warns_when_a_picture_is_laid_out_and_written(tmp_path: Path) -> None:
    settle(titled("病院\x00"))
    assert save(titled("病院\x00"), tmp_path / "a.png").stat().st_size > 0
