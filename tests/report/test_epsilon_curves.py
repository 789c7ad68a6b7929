"""The picture of what is given away has a line for every listener."""

from __future__ import annotations

from pathlib import Path

from dpdl.report.epsilon_curves import draw_epsilon, epsilon_figure

ROUNDS = [1, 5, 10]
PROVEN = {"eavesdropper": [1.0, 2.0, 3.0], "final-model": [0.5, 1.0, 1.5]}


def labels(figure) -> list[str]:
    (axes,) = figure.axes
    return [line.get_label() for line in axes.lines]


def test_proofs_are_solid_and_the_claim_is_dashed() -> None:
    figure = epsilon_figure(ROUNDS, PROVEN, [0.1, 0.2, 0.3], "a plan")
    assert labels(figure) == [
        "proven, eavesdropper",
        "proven, final-model",
        "claimed by Theorem 1",
    ]
    (axes,) = figure.axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]
    assert axes.lines[0].get_xydata().tolist() == [[1, 1], [5, 2], [10, 3]]
    assert axes.get_ylim()[0] == 0
    assert axes.get_title("left") == "a plan"


def test_without_a_claim_there_is_no_line_for_it() -> None:
    assert labels(epsilon_figure(ROUNDS, PROVEN, [], "a plan")) == [
        "proven, eavesdropper",
        "proven, final-model",
    ]


def test_it_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    path = draw_epsilon(ROUNDS, PROVEN, [], tmp_path / "e.svg", "a plan")
    assert path.read_bytes().startswith(b"<?xml")
