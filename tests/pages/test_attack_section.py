"""The section about an attack follows its numbers, and promises nothing that is not proven."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.folder.attack_facts import AttackFacts
from dpdl.pages.attack_section import (
    limits,
    outcome,
    rebuilt,
    seen,
    similarity,
    verdict,
)
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from tests.pages.attacked import HALF, OPEN, SHUT, row
from tests.told import scores


def test_words_follow_the_numbers() -> None:
    assert "recognisable" in outcome(OPEN)
    assert "shadow" in outcome(HALF)
    assert outcome(SHUT).startswith("nothing"), (
        "similar pictures are nothing when the guess is no worse"
    )
    both = verdict([OPEN, HALF, SHUT])
    assert re.search(r"Without protection \(ND\): a neighbour sees your records", both)
    assert re.search(r"With the noise of DPDL: a neighbour sees nothing", both)
    assert "Without protection (ND ring)" in verdict([row("ND ring", "cg", 0.9, 0.001)])
    assert "sees nothing" not in verdict([OPEN, row("ND", "self", 0.0, 1.0)]), (
        "one way in is enough"
    )


def test_records_that_can_be_seen_are_a_warning(attacked: Path) -> None:
    facts = AttackFacts.read(attacked / "attack.json")
    html = rebuilt(facts, attacked).html
    assert html.index("Records can be seen</p>") < html.index("sees your records")
    quiet = replace(facts, rows=(SHUT,))
    assert 'class="alarm"' not in rebuilt(quiet, attacked).html
    assert "sees nothing" in rebuilt(quiet, attacked).html


def test_an_attack_that_fails_is_not_called_a_proof() -> None:
    epsilons = {"ND": UNBOUNDED, "DPDL": Epsilon(2.0), "GUT": UNKNOWN}
    first, unprotected, noisy, unknown = limits(epsilons)
    assert "proves nothing" in first
    assert "nothing is promised" in unprotected and "nothing is promised" in unknown
    assert "at most 2 over" in noisy and "(7.39)" in noisy


def test_the_verdict_is_about_the_round_that_is_shown(attacked: Path) -> None:
    section = rebuilt(AttackFacts.read(attacked / "attack.json"), attacked)
    assert "similarity 0.92" in section.html and "similarity 0.99" not in section.html
    assert "0.99" in section.html  # in the table
    assert "about 216 records at a time" in section.html


@pytest.mark.parametrize(
    ("epsilon", "text"), [(0.0, "(1)"), (600.0, "(3.77e+260)"), (5000.0, "(1e+2171)")]
)
def test_an_epsilon_of_any_size_can_be_shown(epsilon: float, text: str) -> None:
    assert text in limits({"DPDL": Epsilon(epsilon)})[1]


@pytest.mark.parametrize("own", [1, None], ids=["the run's own", "not known"])
def test_nothing_is_said_about_other_batches_where_there_are_none(
    attacked: Path, own: int | None
) -> None:
    facts = AttackFacts.read(attacked / "attack.json")
    rows = tuple(replace(one, own_batch=own) for one in facts.rows)
    section = rebuilt(replace(facts, rows=rows), attacked)
    assert "records at a time" not in section.html


def test_every_row_and_every_guess_is_in_the_table(attacked: Path) -> None:
    facts = AttackFacts.read(attacked / "attack.json")
    unread = replace(facts.rows[0], label_recovery=None, scenario="mm", images=77)
    table = rebuilt(replace(facts, rows=(*facts.rows, unread)), attacked).html
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table)
    assert cells.count("77") == 1 and cells.count("-") == 1
    assert "no attack: mean" in table and cells.count("100%") == 3


def test_there_is_no_minus_zero() -> None:
    assert similarity(scores(-0.001, 1.0)) == "0.00"
    assert similarity(scores(-0.012, 1.0)) == "-0.01"


def test_two_words_say_what_was_rebuilt() -> None:
    assert seen(scores(0.9, 0.016)) == "the records"
    assert seen(scores(0.3, 0.016)) == "a shadow"
    assert seen(scores(0.9, 0.5)) == "nothing"
