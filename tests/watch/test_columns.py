"""Curves as columns, and which of them an epsilon covers."""

from __future__ import annotations

import pytest

from dpdl.watch.columns import COLUMNS, SCORES, Table, covered
from tests.folder.measured import metrics


@pytest.fixture
def table() -> Table:
    found = Table()
    for t in (1, 2, 4):
        found.add(metrics(t, 0.5, loss=1 / 3, clip_fraction=0.25, gradient_norm=2.0))
    return found


def test_a_column_has_a_number_of_every_round(table: Table) -> None:
    assert len(table) == 3
    found = table.since(0, dict.fromkeys(COLUMNS, True))
    assert found["round"] == [1, 2, 4]
    assert found["clip"] == [0.25] * 3
    assert found["signal"] == [2.0] * 3
    assert found["score_best"] == [0.6] * 3
    assert found["bytes"] == [1000, 2000, 4000]
    assert {len(column) for column in found.values()} == {3}


def test_only_what_is_new_and_wanted_is_given(table: Table) -> None:
    found = table.since(2, {**dict.fromkeys(COLUMNS, False), "round": True})
    assert found == {"round": [4]}


def test_six_digits_are_enough_for_a_curve(table: Table) -> None:
    assert table.columns["loss"] == [0.333333] * 3


def test_what_was_not_measured_is_null() -> None:
    table = Table()
    table.add(metrics(1))
    assert table.columns["loss"] == table.columns["signal"] == [None]


def test_what_is_computed_from_records_without_noise_is_not_covered() -> None:
    found = covered(tested_in_private=False)
    bare = {name for name, it in found.items() if not it}
    assert bare == {
        "loss", "loss_min", "loss_max", "clip", "signal", "broken", "seconds",
    }  # fmt: skip


def test_scores_on_private_records_are_not_covered() -> None:
    open_, closed = covered(False), covered(True)
    changed = {name for name in COLUMNS if open_[name] != closed[name]}
    assert changed == set(SCORES)
    assert not any(closed[name] for name in SCORES)
