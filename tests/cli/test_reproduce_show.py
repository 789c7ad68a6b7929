"""What `dpdl reproduce` shows to people."""

from __future__ import annotations

import pytest

from dpdl.cli.reproduce_show import Announcer, duration, list_runs, show_cells
from dpdl.studies.reproduce.forecast import Beginning, Forecast
from dpdl.studies.reproduce.printed import BestProven, PrintedCells
from tests.pages.cells import CELL, RANKING, row

FORECAST = Forecast({"first": 90.4, "second": 29.6}, jobs=2)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (179, "179 seconds"),
        (180, "3 minutes"),
        (10799, "180 minutes"),
        (10800, "3 hours"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize("what", ["runs", "attacks"])
def test_what_begins_is_announced_on_standard_error(what: str, capsys) -> None:
    Announcer(what, quiet=False)(Beginning(FORECAST))
    out, err = capsys.readouterr()
    at = ", 2 at a time" if what == "runs" else ""
    assert (out, err) == ("", f"2 {what}, about 60 seconds{at}.\n")


@pytest.mark.parametrize("untuned", [0, 1])
def test_a_missing_step_size_is_named_even_when_quiet(untuned: int, capsys) -> None:
    Announcer("runs", quiet=True)(Beginning(FORECAST, untuned))
    err = capsys.readouterr().err
    assert ("No step size was searched for 1 of them" in err) is bool(untuned)
    assert "at a time" not in err


def test_runs_are_listed_with_their_seconds(capsys) -> None:
    list_runs(FORECAST, "runs", as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "     90 s  first",
        "     30 s  second",
        "2 runs, about 60 seconds with 2 at a time.",
    ]


def shown(capsys, found: PrintedCells) -> str:
    show_cells(found)
    return " ".join(capsys.readouterr().out.split())


def test_nothing_measured_is_one_sentence(capsys) -> None:
    text = shown(capsys, PrintedCells((), (), ()))
    assert text == "None of these cells was measured yet."


def test_cells_rankings_and_claims_are_shown(capsys) -> None:
    best = BestProven(*CELL, ours=90.5, claimed=91.8, reached=False)
    found = PrintedCells((row(), row(beyond=True, spread=0.3)), (RANKING,), (best,))
    text = shown(capsys, found)
    assert "91.8 ± 0.6" in text and "-1.3 *" in text and "of dpdl" in text
    assert "Ranking agrees, sound, mnist ring 10, α 0.25, ε 0.5: ours dpdl >" in text
    assert "Claim for DPDL not reached" in text and "90.5 proven by dpdl." in text
    assert "*: the difference is larger" in text


def test_figures_are_named_or_missing(capsys) -> None:
    figures = {"sound": "results/figures/x.png", "algorithm1": None}
    for count, cells in ((1, "1 cell was"), (2, "2 cells were")):
        found = PrintedCells((row(within=True),), (), (), figures, count)
        text = shown(capsys, found)
        assert "Figure: results/figures/x.png" in text
        assert "No figure for mode algorithm1" in text and f"{cells} measured" in text
        assert "larger than the paper's spread" not in text
    assert "other recipes" not in shown(capsys, PrintedCells((), (), (), figures, 0))
