"""The board: a line for every run that ends, with what else goes on, or nothing at all."""

from __future__ import annotations

import pytest

from dpdl.cli.board import Board, going_on
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.pool_messages import Ending, EndState, Going, Standing

SPENT = Epsilon(1.0)
REACHED = Standing(7, 0.25, SPENT, SPENT)


def said(capsys) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("ending", "line"),
    [
        (Ending(EndState.DONE, REACHED), "accuracy 25.00% after round 7"),
        (
            Ending(EndState.DONE, Standing(7, 0.25, SPENT, SPENT, "It is spent.")),
            "accuracy 25.00% after round 7, its budget is spent",
        ),
        (
            Ending(
                EndState.DONE,
                Standing(7, 0.25, SPENT, SPENT, score_name="squared_error"),
            ),
            "squared error 0.25 after round 7",
        ),
        (Ending(EndState.FAILED, error="No space."), "failed: No space."),
        (Ending(EndState.DIVERGED, error="Too large."), "diverged: Too large."),
        (Ending(EndState.INTERRUPTED), "interrupted, its state is saved"),
    ],
    ids=str,
)
def test_an_ending_is_one_line(capsys, ending: Ending, line: str) -> None:
    with Board(hidden=False) as board:
        board("run", ending)
    assert said(capsys) == [f"run: {line}"]


def test_the_line_names_what_else_goes_on(capsys) -> None:
    with Board(hidden=False) as board:
        board("a", Going())
        board("b", Going())
        board("b", Going(3))
        assert said(capsys) == []
        board("a", Ending(EndState.DONE, REACHED))
        board("c", Going())
        board("b", Ending(EndState.DONE, REACHED))
    assert said(capsys) == [
        "a: accuracy 25.00% after round 7; going on: b (round 3)",
        "b: accuracy 25.00% after round 7; going on: c",
    ]


def test_names_and_errors_are_shown_as_they_are(capsys) -> None:
    with Board(hidden=False) as board:
        board("[bold]", Ending(EndState.FAILED, error="File 'a[0]' is gone."))
    assert said(capsys) == ["[bold]: failed: File 'a[0]' is gone."]


def test_a_hidden_board_says_nothing(capsys) -> None:
    with Board(hidden=True) as board:
        board("a", Going())
        board("a", Ending(EndState.FAILED, error="No space."))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")


def test_the_line_names_as_many_runs_as_fit() -> None:
    names = ["dpdl-seed0 (round 120)", "decor-seed0 (round 99)", "muffliato-seed0"]
    assert going_on("3 ended", [], 30) == "3 ended"
    assert going_on("3 ended", names, 120).endswith("muffliato-seed0")
    assert (
        going_on("3 ended", names, 55)
        == "3 ended; going on: dpdl-seed0 (round 120) and 2 more"
    )
    assert going_on("3 ended", names, 31) == "3 ended; 3 going on"
