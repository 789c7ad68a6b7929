"""The curve that is drawn is the one that was given."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.roc import (
    FEW,
    LOOKS,
    RocCurve,
    counted,
    draw_roc,
    interval,
    roc_figure,
)

CURVES = {
    "cross-gradient": RocCurve([0, 0, 0.002, 0.1, 1], [0, 0.05, 0.2, 0.9, 1], 200, 300),
    "loss $x": RocCurve([0, 0.5, 1], [0, 0.5, 1]),
}


def test_curves_are_drawn_on_logarithmic_axes_with_the_diagonal() -> None:
    figure = roc_figure(CURVES, "a run")
    (axes,) = figure.axes
    guess, first, second = axes.lines
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xlim() == axes.get_ylim() == (pytest.approx(0.001), 1)
    assert guess.get_xdata()[0] == guess.get_ydata()[0] == pytest.approx(0.001)
    np.testing.assert_allclose(first.get_xdata(), [0.001, 0.001, 0.002, 0.1, 1])
    np.testing.assert_allclose(first.get_ydata(), [0.001, 0.05, 0.2, 0.9, 1])
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "guessing",
        *CURVES,
    ]


@pytest.mark.parametrize(
    ("rate", "low"), [(0.3, 0.01), (0.01, 0.01), (0.00012, 1e-4), (1e-9, 1e-6)]
)
def test_the_axes_begin_below_the_smallest_rate(rate: float, low: float) -> None:
    (axes,) = roc_figure({"a": RocCurve([0, rate, 1], [0, 0.5, 1])}, "").axes
    assert axes.get_xlim()[0] == pytest.approx(low)


def test_the_picture_is_written_and_readable(tmp_path) -> None:
    with Image.open(draw_roc(CURVES, "costs $5", tmp_path / "roc.png")) as image:
        assert 800 <= min(image.size) <= max(image.size) <= 2400
        assert np.asarray(image.convert("L")).std() > 5


@pytest.mark.parametrize(
    ("curves", "hint"),
    [
        ({}, "no curves"),
        ({"a": RocCurve([0, 1], [0, 0.5, 1])}, "as many"),
        ({"a": RocCurve([0], [0])}, "two at least"),
        ({"a": RocCurve([0, 0.5, 0.4], [0, 0.5, 1])}, "ascending"),
        ({"a": RocCurve([0, 1.5], [0, 1])}, "from 0 to 1"),
        ({"a": RocCurve([0, float("nan")], [0, 1])}, "from 0 to 1"),
        (
            {str(k): RocCurve([0, 1], [0, 1]) for k in range(len(LOOKS) + 1)},
            "distinguished",
        ),
    ],
)
def test_what_is_no_curve_is_refused(curves, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        roc_figure(curves, "")


def test_matplotlib_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, dpdl.pages.roc; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_number_of_records_and_the_confidence_are_said() -> None:
    figure = roc_figure(CURVES, "a run")
    title, detail = (" ".join(text.get_text().split()) for text in figure.texts)
    assert title == "a run"
    assert (
        detail
        == counted(CURVES)
        == (
            "200 members and 300 non-members per curve. Shaded: 95 % confidence of each "
            "true positive rate."
        )
    )
    more = {"a": CURVES["cross-gradient"], "b": RocCurve([0, 1], [0, 1], 1000, 300)}
    assert "200 to 1,000 members and 300 non-members" in counted(more)
    assert counted({"a": RocCurve([0, 1], [0, 1])}) == ""


def test_a_band_is_there_where_the_number_of_records_is_known() -> None:
    (axes,) = roc_figure(CURVES, "a run").axes
    assert len(axes.collections) == 1
    one = CURVES["cross-gradient"]
    (axes,) = roc_figure({str(k): one for k in range(FEW + 1)}, "").axes
    assert len(axes.collections) == 0, "many would cover each other"


def test_the_interval_is_wilsons() -> None:
    low, high = interval(np.array([0.0, 0.5, 1.0]), 10)
    np.testing.assert_allclose(low, [0.0, 0.236593, 0.722467], atol=1e-6)
    np.testing.assert_allclose(high, [0.277533, 0.763407, 1.0], atol=1e-6)
