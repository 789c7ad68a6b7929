"""Cells beside the paper's are printed with the keys that programs rely on."""

from __future__ import annotations

import json

import pytest

from dpdl.pages.compared_cells import ComparedCell, Ranking, proven_text
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from tests.pages.cells import CELL, RANKING, ROW, row


def test_a_cell_has_the_keys_of_the_tables_first() -> None:
    found = ROW.to_json()
    assert list(found) == [
        *CELL._fields,
        "mode",
        "ours",
        "spread",
        "paper",
        "paper_spread",
        "difference",
        "within",
        "beyond",
        "proven",
        "seeds",
        "note",
    ]
    assert (found["proven"], found["seeds"], found["spread"]) == (2.0, [0], None)


@pytest.mark.parametrize("proven", [Epsilon(0.5), UNBOUNDED, UNKNOWN])
def test_a_cell_comes_back_from_json(proven: Epsilon) -> None:
    before = row(proven=proven, seeds=(0, 2), spread=0.3, note="odd")
    assert ComparedCell.from_json(json.loads(json.dumps(before.to_json()))) == before
    assert before.cell == CELL


@pytest.mark.parametrize(
    ("proven", "holds"),
    [
        (Epsilon(0.5), True),
        (Epsilon(0.5001), True),
        (Epsilon(0.51), False),
        (UNBOUNDED, False),
        (UNKNOWN, False),
    ],
)
def test_a_cell_is_proven_if_its_runs_prove_its_epsilon(
    proven: Epsilon, holds: bool
) -> None:
    assert row(epsilon=0.5, proven=proven).is_proven == holds


def test_a_ranking_comes_back_from_json() -> None:
    found = json.loads(json.dumps(RANKING.to_json()))
    assert list(found)[:6] == ["mode", *CELL._fields[:-1]]
    assert Ranking.from_json(found) == RANKING


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (Epsilon(0.49996), "0.5"),
        (Epsilon(7.254), "7.25"),
        (Epsilon(999.4), "999"),
        (Epsilon(1000.0), "1,000"),
        (Epsilon(5615.98), "5,616"),
        (Epsilon(0.0), "0"),
        (UNBOUNDED, "unbounded"),
        (UNKNOWN, "unknown"),
    ],
)
def test_a_large_epsilon_is_a_whole_number(epsilon: Epsilon, text: str) -> None:
    assert proven_text(epsilon) == text
