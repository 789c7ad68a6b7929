"""An attack in tables, and its progress."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl.attacks.scenarios import AttackCase
from dpdl.cli.attack_show import AttackProgress, CaseProgress, show
from dpdl.folder.attack_facts import AttackFacts, EpsilonBounds
from dpdl.privacy.epsilon import UNBOUNDED
from tests.attacks.facts import BOUNDS, FACTS, RATES, inferred


def shown(facts: AttackFacts, capsys: pytest.CaptureFixture[str]) -> str:
    show(facts)
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture(autouse=True)
def wide(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def test_rows_and_guesses_are_in_one_table(capsys) -> None:
    text = shown(FACTS, capsys)
    numbers = "800 │ 1 │ 0.100 │ 20.0 │ 0.92"
    assert f"ND │ cg │ {numbers} │ 100% │ 0.001" in text
    assert f"DPDL │ cg │ {numbers} │ - │ 0.001" in text
    assert "nobody │ mean │ │ │ 0.260 │ 12.0 │ 0.20" in text
    assert "Pictures: runs/nd/attack/gallery.png" in text


def test_the_papers_numbers_stand_beside_ours(capsys) -> None:
    text = shown(FACTS, capsys)
    assert "Round 800, mnist, ring, 10 agents" in text
    assert "ND-CG │ 1 │ 0.85 │ 0.10 │ 6.8 │ 20.0 │ 0.20 │ -" in text
    assert "has an MSE of 0.26" in text


@pytest.mark.parametrize("paper", [None, ()])
def test_without_a_row_of_the_paper_there_is_no_such_table(capsys, paper) -> None:
    """For instance when other rounds than the paper's last one were attacked."""
    text = shown(replace(FACTS, paper=paper), capsys)
    assert "the paper's attack" not in text and "Reconstructions" in text


def test_members_are_shown_with_the_epsilons(capsys) -> None:
    text = shown(FACTS, capsys)
    assert "DPDL │ cg │ 5 │ own │ 0.900 │ 0.80 to 0.95 │ too few records" in text
    proven = "epsilon is proven to be at most 3.5"
    certified = "the audit certifies at least 0.75 (95% confidence)."
    assert f"DPDL, whole run, all links heard: {proven}; {certified}" in text
    assert "ROC curves: runs/nd/attack/membership.png" in text


def test_what_is_not_proven_or_certified_is_said(capsys) -> None:
    rates = replace(RATES, tpr_at_1_percent=0.25)
    bare = EpsilonBounds(UNBOUNDED, None, "without noise every epsilon is refuted")
    one = inferred(
        who="ND",
        batch=4,
        scores=replace(inferred().scores, gradient=rates),
        epsilon=bare,
    )
    text = shown(replace(FACTS, membership=(one,)), capsys)
    assert "ND │ cg │ 5 │ 4 │ 0.900 │ 0.80 to 0.95 │ 25.0%" in text
    assert "nothing is proven; without noise every epsilon is refuted." in text
    half = replace(BOUNDS, proven=UNBOUNDED)
    text = shown(replace(FACTS, membership=(replace(one, epsilon=half),)), capsys)
    assert "nothing is proven; the audit certifies at least 0.75" in text


def test_without_membership_nothing_is_said_about_it(capsys) -> None:
    text = shown(replace(FACTS, membership=None), capsys)
    assert "Was this record" not in text and "ROC" not in text


def test_cases_add_up_to_one_bar(capsys, monkeypatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal then
    monkeypatch.setenv("COLUMNS", "60")
    with CaseProgress(2, hidden=False) as bar:
        bar.watch(AttackCase("cg", 200, 1))(0.5)
        bar.watch(AttackCase("mm", 400, None))(1.0)
    drawn = capsys.readouterr().err
    assert "mm" in drawn and "round 400" in drawn and "own batch" in drawn
    assert "0:00 left" in drawn, "both are done"


def test_hidden_progress_prints_nothing(capsys) -> None:
    progress = AttackProgress(hidden=True)
    with progress.attacking(1) as begin:
        begin(AttackCase("cg", 1, None))(1.0)
    with progress.auditing(3) as done:
        done(3)
    assert capsys.readouterr() == ("", "")
    assert not progress.shown and AttackProgress(hidden=False).shown
