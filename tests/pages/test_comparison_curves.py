"""The picture of a comparison shows the mean over seeds, and says what its band is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.pages.comparison_curves import averaged, comparison_figure, draw_comparison
from dpdl.pages.lines import LOOKS
from tests.folder.measured import metrics


def run(
    *scores: float, loss: float | None = 1.0, name: str = "accuracy"
) -> list[Metrics]:
    return [metrics(10 * k, mean, loss, name=name) for k, mean in enumerate(scores, 1)]


def foot(figure) -> str:
    """What is written below the axes."""
    return figure.texts[-1].get_text()


def score(m: Metrics) -> float:
    return m.score.mean


def loss(m: Metrics) -> float | None:
    return m.train_loss.mean


def test_only_rounds_that_every_seed_has_are_averaged() -> None:
    rounds, values = averaged([run(0.1, 0.2, 0.4), run(0.3, 0.4)], score)
    assert rounds == [10, 20]
    assert np.array_equal(values, [[0.1, 0.3], [0.2, 0.4]])
    assert averaged([run(0.1, loss=None)], loss)[0] == []


def test_lines_are_means_and_bands_are_what_the_title_says() -> None:
    three = [run(0.1, 0.4), run(0.2, 0.5), run(0.3, 0.9)]
    figure = comparison_figure({"dpdl": three}, "digits")
    accuracy = figure.axes[0]
    assert accuracy.lines[0].get_ydata() == pytest.approx([0.2, 0.6])
    band = accuracy.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.1)
    assert band[:, 1].max() == pytest.approx(0.6 + np.std([0.4, 0.5, 0.9], ddof=1))
    assert "one standard deviation to either side" in foot(figure)
    two = comparison_figure({"dpdl": three[::2]}, "digits")
    assert two.axes[0].collections[0].get_paths()[0].vertices[
        :, 1
    ].max() == pytest.approx(0.9)
    assert "both seeds" in foot(two)
    one = comparison_figure({"dpdl": three[:1]}, "digits")
    assert len(one.axes[0].collections) == 0
    assert "One seed" in foot(one)


def dashes(line) -> tuple[float, ...]:
    return tuple(line._unscaled_dash_pattern[1] or ())


def test_an_algorithm_has_its_own_look_whatever_it_is_compared_with() -> None:
    few, many = (
        comparison_figure({name: [run(0.2, 0.3)] for name in names}, "x")
        for names in (["muffliato"], ["dpdl", "mine:Own", "muffliato"])
    )
    for axes in (*few.axes, *many.axes):
        line = axes.lines[-1]
        assert line.get_color() == LOOKS["muffliato"].colour
        assert dashes(line) == LOOKS["muffliato"].dash
        assert line.get_marker() == LOOKS["muffliato"].letter


def test_many_algorithms_have_lines_of_their_own_and_names_at_their_ends(
    tmp_path,
) -> None:
    names = [*LOOKS, "mine:Own", "mine:Two"]
    curves = {name: [run(0.01 * k, 0.01 * k + 0.05)] for k, name in enumerate(names)}
    figure = comparison_figure(curves, "digits")
    drawn = {(line.get_color(), dashes(line)) for line in figure.axes[0].lines}
    assert len(drawn) == len(names)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert {text.get_text() for text in axes.texts} == set(names)
        boxes = sorted(
            (Text.get_window_extent(text) for text in axes.texts),
            key=lambda box: box.y0,
        )
        edge = axes.get_window_extent().x1
        assert all(box.x0 > edge for box in boxes)
        assert all(box.x1 <= figure.bbox.x1 for box in boxes), "no name is cut"
        assert all(a.y1 <= b.y0 + 3 for a, b in pairwise(boxes)), "none overlap"
    path = draw_comparison(curves, tmp_path / "c.png", "digits")
    assert np.asarray(Image.open(path)).std() > 5


def test_the_title_says_what_is_proven_of_how_many_agents() -> None:
    figure = comparison_figure(
        {"dpdl": [run(0.2)]}, "digits, ring of 5 agents", "Epsilon proven: 4."
    )
    title, detail, _ = (text.get_text() for text in figure.texts)
    assert (title, detail) == ("digits, ring of 5 agents", "Epsilon proven: 4.")


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="no evaluated rounds"):
        comparison_figure({"dpdl": [[]]}, "digits")


def test_a_score_that_is_no_accuracy_has_its_name_and_plain_numbers() -> None:
    error = comparison_figure({"a": [run(2.0, 3.0, name="squared_error")]}, "own")
    assert error.axes[0].get_title(loc="left") == "test squared error"
    error.canvas.draw()
    ticks = [one.get_text() for one in error.axes[0].get_yticklabels()]
    assert not any("%" in tick for tick in ticks)
    accuracy = comparison_figure({"a": [run(0.2, 0.3)]}, "digits")
    accuracy.canvas.draw()
    assert accuracy.axes[0].get_title(loc="left") == "test accuracy"
    assert all("%" in one.get_text() for one in accuracy.axes[0].get_yticklabels())


def test_a_loss_that_nobody_may_know_leaves_its_panel_empty() -> None:
    figure = comparison_figure({"a": [run(0.2, 0.3, loss=None)]}, "digits")
    assert [len(axes.lines) for axes in figure.axes] == [1, 0]
