"""What is written above and below a picture fits, and the axes give way to it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from dpdl.pages.captions import Words, captioned

LONG = "Epsilon 3, proven against an eavesdropper on all links; 0.5 claimed. " * 4


def drawn(words: Words, foot: str = "") -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title("panel", loc="left")
    axes.set_xlabel("round")
    captioned(figure, words, foot)
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("words", [Words("A run", LONG), Words(LONG), Words("", LONG)])
def test_texts_stay_inside_and_apart_from_the_axes(words: Words) -> None:
    figure = drawn(words, LONG)
    *tops, foot = [text.get_window_extent() for text in figure.texts]
    assert len(tops) == sum(map(bool, words))
    (axes,) = figure.axes
    inner = axes.get_tightbbox()
    for box in (*tops, foot):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
        assert box.y0 >= 0 and box.y1 <= figure.bbox.height
    assert inner.y1 <= min(box.y0 for box in tops) + 1
    assert inner.y0 >= foot.y1 - 1
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(tops))


def test_without_words_the_axes_have_all_the_room() -> None:
    empty, full = drawn(Words()), drawn(Words("A", "B"), "C")
    assert not empty.texts
    heights = [one.axes[0].get_window_extent().height for one in (empty, full)]
    assert heights[0] > heights[1] + 50


def test_a_name_is_never_read_as_a_formula() -> None:
    assert drawn(Words("cost $5_ $")).texts[0].get_text() == "cost $5_ $"
