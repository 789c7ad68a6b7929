"""Names at the ends of lines: near their lines, never over each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from dpdl.pages.end_labels import APART, End, label_ends, needed, settle, spread


@pytest.mark.parametrize(
    "wanted",
    [
        [5.0, 100.0, 50.0],
        [50.0, 50.0, 50.0],
        [22.0, 34.0, 34.0],
        [0.0, 0.0, 0.0, 99.0, 100.0],
        [100.0, 99.0, 98.0, 20.0],
        np.linspace(40, 60, 8),
        [float(x) for x in np.random.default_rng(0).uniform(0, 100, 8)],
    ],
)
def test_names_are_apart_in_order_and_inside(wanted: list[float]) -> None:
    found = spread(np.array(wanted), 100.0)
    order = np.argsort(wanted, kind="stable")
    assert all(b - a >= APART - 1e-9 for a, b in pairwise(found[order]))
    assert found.min() >= 0 and found.max() <= 100 + 1e-9


def test_names_with_room_stay_where_their_lines_end() -> None:
    assert spread(np.array([10.0, 50.0, 90.0]), 100).tolist() == [10, 50, 90]


def test_a_crowd_is_centred_on_what_it_wants() -> None:
    found = spread(np.array([50.0, 50.0, 50.0]), 100)
    assert found.mean() == pytest.approx(50) and np.ptp(found) == pytest.approx(
        2 * APART
    )


def drawn(ends: list[End]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for end in ends:
        axes.plot([0, end.x], [0, end.y], color=end.colour)
    settle(figure)
    label_ends(axes, ends)
    figure.draw_without_rendering()
    return figure


def test_names_stand_beside_the_axes_and_are_led_to_where_they_belong() -> None:
    ends = [End(10, y, f"name {y}", "#0072B2") for y in (5.0, 5.01, 9.0)]
    figure = drawn(ends)
    (axes,) = figure.axes
    edge = axes.get_window_extent().x1
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert all(edge < box.x0 and box.x1 <= figure.bbox.width for box in boxes)
    assert [text.arrow_patch is not None for text in axes.texts] == [True, True, False]
    assert [text.get_color() for text in axes.texts] == ["#0072B2"] * 3


def test_a_line_that_ends_early_has_its_name_there() -> None:
    figure = drawn([End(10, 5.0, "long", "#0072B2"), End(3, 2.0, "short", "#D55E00")])
    (axes,) = figure.axes
    places = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
    edge = axes.get_window_extent().x1
    assert places["long"].x0 > edge > places["short"].x1


def test_nothing_is_written_without_lines() -> None:
    assert not drawn([]).axes[0].texts


def test_the_room_for_names_grows_with_their_number() -> None:
    assert needed(20) == pytest.approx(20 * APART / 72)
