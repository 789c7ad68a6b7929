"""The picture of what is given away has a line for every listener."""

from __future__ import annotations

from pathlib import Path

from dpdl.pages.epsilon_curves import EpsilonCurves, draw_epsilon, epsilon_figure

PROVEN = {"eavesdropper": [1.0, 2.0, 3.0], "final-model": [0.5, 1.0, 1.5]}
CURVES = EpsilonCurves([1, 5, 10], PROVEN)


def labels(figure) -> list[str]:
    (axes,) = figure.axes
    return [line.get_label() for line in axes.lines]


def test_proofs_are_solid_and_the_claim_is_dashed() -> None:
    curves = CURVES._replace(claimed=[0.1, 0.2, 0.3])
    figure = epsilon_figure(curves, "a plan", "delta 1e-05")
    names = ["proven, eavesdropper", "proven, final-model", "claimed by Theorem 1"]
    assert labels(figure) == names
    (axes,) = figure.axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]
    assert len({line.get_marker() for line in axes.lines}) == 3
    assert axes.lines[0].get_xydata().tolist() == [[1, 1], [5, 2], [10, 3]]
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.texts] == names
    assert [text.get_text() for text in figure.texts] == ["a plan", "delta 1e-05"]


def test_without_a_claim_there_is_no_line_for_it() -> None:
    assert labels(epsilon_figure(CURVES, "a plan", "")) == [
        "proven, eavesdropper",
        "proven, final-model",
    ]


def test_where_nothing_is_proven_the_picture_says_so() -> None:
    (axes,) = epsilon_figure(EpsilonCurves([1, 2], {}), "a plan", "").axes
    assert [text.get_text() for text in axes.texts] == ["nothing is proven"]


def test_it_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    path = draw_epsilon(CURVES, tmp_path / "e.svg", "a plan", "")
    assert path.read_bytes().startswith(b"<?xml")
