"""The picture of a comparison shows the mean over seeds, and says what its band is."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics
from dpdl.report.comparison_curves import averaged, comparison_figure, draw_comparison
from tests.folder.measured import metrics


def run(
    *scores: float, loss: float | None = 1.0, name: str = "accuracy"
) -> list[Metrics]:
    return [metrics(10 * k, mean, loss, name=name) for k, mean in enumerate(scores, 1)]


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
    assert (
        "one standard deviation to either side"
        in figure.legends[0].get_title().get_text()
    )
    two = comparison_figure({"dpdl": three[::2]}, "digits")
    assert two.axes[0].collections[0].get_paths()[0].vertices[
        :, 1
    ].max() == pytest.approx(0.9)
    assert "both seeds" in two.legends[0].get_title().get_text()
    one = comparison_figure({"dpdl": three[:1]}, "digits")
    assert len(one.axes[0].collections) == 0
    assert "one seed" in one.legends[0].get_title().get_text()


def test_many_algorithms_have_lines_of_their_own_and_a_legend(tmp_path) -> None:
    curves = {f"algorithm-{k}": [run(0.1 * k, 0.1 * k + 0.05)] for k in range(10)}
    figure = comparison_figure(curves, "digits")
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(looks) == 10
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(curves)
    path = draw_comparison(curves, tmp_path / "c.png", "digits")
    assert np.asarray(Image.open(path)).std() > 5


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
