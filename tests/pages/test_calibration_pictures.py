"""The pictures of the study show every setting once, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.calibration_pictures import (
    SHADES,
    WIDE,
    cosines_figure,
    draw_cosines,
    draw_leads,
    draw_tiles,
    leads_figure,
    tiles_figure,
)
from dpdl.pages.figures import DPI
from tests.pages.study_lines import cosine, setting, study

STUDY = study(
    {
        setting(2.0): {"dpdl-sound": [0.5] * 3, "blind": [0.5, 0.51, 0.49]},
        setting(32.0): {"dpdl-sound": [0.8] * 3, "blind": [0.78, 0.79, 0.77]},
        setting(None): {"dpdl-sound": [0.8] * 3, "blind": [0.9] * 3},
        setting(None, agents=5): {"dpdl-sound": [0.8] * 3, "blind": [0.9] * 3},
    }
)
LINES = [cosine(sigma) for sigma in (0.05, 0.5, 5.0)]


def test_dots_stand_at_their_signal_to_noise() -> None:
    left, used = cosines_figure(LINES).axes
    dots = [one for one in left.lines if one.get_label() == "mnist-linear"]
    assert dots[0].get_xdata() == pytest.approx([100, 1, 0.01])
    assert list(dots[0].get_ydata()) == [0.5] * 3
    (curve,) = (one for one in left.lines if one.get_label() == "s / (1 + s)")
    s, kept = curve.get_data()
    assert kept == pytest.approx(s / (1 + s))
    assert used.get_ylabel() == "coefficient"


def test_every_setting_has_a_dot_in_the_colour_of_its_lead() -> None:
    (axes,) = leads_figure(STUDY, ["blind"]).axes
    found = {
        one.get_color(): sorted(float(y) for y in one.get_ydata())
        for one in axes.lines
        if one.get_marker() == "o"
    }
    assert found[SHADES[1]] == pytest.approx([2])
    assert found[SHADES[0]] == pytest.approx([0], abs=1e-9)
    assert found[SHADES[-1]] == pytest.approx([-10, -10])
    labels = [one.get_text() for one in axes.get_xticklabels()]
    assert labels == ["2", "32", "no noise"]
    assert axes.get_title(loc="left") == "over blind"


def test_tiles_have_the_lead_of_their_place_and_epsilon() -> None:
    (axes,) = tiles_figure(STUDY, "blind", "mnist-linear").axes
    texts = {one.get_position(): one.get_text() for one in axes.texts}
    assert texts == {(0, 1): "+0.0", (1, 1): "+2.0", (2, 0): "-10.0", (2, 1): "-10.0"}
    places = [one.get_text() for one in axes.get_yticklabels()]
    assert places == ["ring of 5", "ring of 10"]


def test_pictures_are_as_wide_as_a_phone_can_show(tmp_path: Path) -> None:
    paths = [
        draw_cosines(LINES, tmp_path / "cosines.png"),
        draw_leads(STUDY, ["blind"], tmp_path / "leads.png"),
        draw_tiles(STUDY, "blind", "mnist-linear", tmp_path / "tiles.png"),
    ]
    for path in paths:
        with Image.open(path) as image:
            assert image.width == WIDE * DPI


@pytest.mark.parametrize(
    "draw",
    [
        lambda: cosines_figure([]),
        lambda: leads_figure(STUDY, ["dp-cga"]),
        lambda: tiles_figure(STUDY, "blind", "digits-mlp"),
    ],
)
def test_nothing_is_not_drawn(draw) -> None:
    with pytest.raises(InputError, match=r"no (measured|leads)"):
        draw()
