"""Comparisons, searches and pages as cards: escaped, ranked, with what tuning costs."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.studies.comparison_table import (
    ComparisonRow,
    ComparisonTable,
    FailedRun,
    OverSeeds,
    ScoreOverSeeds,
)
from dpdl.studies.pages import WrittenPage
from dpdl.studies.search_records import SearchResult, TrialResult
from dpdl.studies.study_cards import MOST

ROW = ComparisonRow(
    algorithm="dpdl-sound",
    rank=1,
    score=ScoreOverSeeds("accuracy", 0.875, 0.01, 0.8),
    average_model=OverSeeds(0.9, None),
    train_loss=0.123456,
    consensus_distance=0.1,
    sigma=1.0,
    seconds=1.0,
    bytes_sent=1,
    rounds=5,
    epsilon={"eavesdropper": Epsilon(3.25)},
    proven=True,
    seeds=(0, 1),
    stopped=(),
    failed=(),
)
TABLE = ComparisonTable(
    rows=(ROW,),
    dataset="/archive/digits<1>.npz",
    graph="ring",
    agents=5,
    delta=1e-5,
    threat="eavesdropper",
    noise="accountant",
    equal="epsilon",
    megabytes=None,
    out="runs/compare",
)


def text(html: str) -> str:
    return " ".join(ElementTree.fromstring(html).itertext())


def test_a_comparison_shows_its_rows_best_first() -> None:
    none = ScoreOverSeeds("accuracy", None, None, None)
    failed = replace(
        ROW,
        algorithm="dpdl",
        rank=None,
        score=none,
        proven=False,
        failed=(FailedRun(0, "no"),),
    )
    shown = text(replace(TABLE, rows=(ROW, failed))._repr_html_())
    assert "digits<1>.npz, ring of 5 agents, equal epsilon" in shown
    assert "/archive" not in shown and "0.1235" not in shown
    assert "87.50% ± 1.00% 80.00% 3.25" in shown
    assert shown.index("dpdl-sound") < shown.index("not private, 1 failed")


def test_a_search_shows_its_best_trials_and_the_warning() -> None:
    trials = tuple(
        TrialResult(k, {"lr": 0.1 * k}, UNKNOWN, UNKNOWN, None, 5, None if k else 0.5)
        for k in range(MOST + 2)
    )
    found = SearchResult(
        {"lr": 0.0},
        0.5,
        "dpdl",
        trials,
        "random",
        "eavesdropper",
        "Costs <x>.",
        None,
        "o",
    )
    shown = text(found._repr_html_())
    assert "dpdl: 10 trials, search random" in shown and "Costs <x>." in shown
    assert shown.count("diverged") == MOST - 1 and "50.00%" in shown


def test_a_page_says_where_it_is_and_what_is_not_covered() -> None:
    found = WrittenPage("runs/report.html", ("one & two",), False, ("losses",))
    shown = text(found._repr_html_())
    assert "Page: runs/report.html" in shown and "one & two" in shown
    assert "no epsilon covers: losses." in shown
    public = text(replace(found, public=True)._repr_html_())
    assert "It leaves out: losses." in public
