"""Curves are kept beside results, stay small, and may be missing."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from dpdl.studies.reproduce import beside_paper, queue, recipes, store
from dpdl.studies.reproduce.curves import MOST, curve_of
from tests.studies.reproduce.small import (
    CELL,
    METRICS,
    SUMMARY,
    entered,
    left_behind,
    metric,
)


def file_of(out: Path) -> Path:
    return store.path_of(out, CELL, "as-published")


# ------------------------------------------------------------------ one curve
def test_a_curve_has_rounds_losses_and_accuracy_with_few_digits() -> None:
    assert curve_of([metric(1), metric(50, 0.3, 0.5)]) == {
        "rounds": [1, 50],
        "loss": [1.2346, 0.3],
        "lowest": [0.2346, -0.7],
        "highest": [2.2346, 1.3],
        "accuracy": [98.77, 50.0],
    }


def test_a_loss_that_nobody_has_stays_nothing() -> None:
    curve = curve_of([metric(1), metric(2, None)])
    assert (
        curve and curve["loss"] == [1.2346, None] and curve["highest"] == [2.2346, None]
    )


def test_nothing_evaluated_is_no_curve() -> None:
    assert curve_of([]) is None


@pytest.mark.parametrize("count", [1, 21, MOST, MOST + 1, 1000])
def test_a_curve_is_bounded_and_keeps_its_ends(count: int) -> None:
    curve = curve_of([metric(t) for t in range(1, count + 1)])
    assert curve and {len(values) for values in curve.values()} == {min(count, MOST)}
    rounds = curve["rounds"]
    assert (rounds[0], rounds[-1]) == (1, count) and rounds == sorted(set(rounds))
    steps = {b - a for a, b in itertools.pairwise(rounds)}
    assert not steps or max(steps) - min(steps) <= 1, "evenly"


# ------------------------------------------------------------------ in results
def test_the_queue_keeps_the_curve_of_a_run(tmp_path: Path) -> None:
    left_behind(tmp_path / "runs", SUMMARY)  # it ended when nobody listened
    one = queue.Wanted(
        CELL, "as-published", recipes.experiment(CELL, "as-published", 0)
    )
    assert (
        queue.perform(
            [one], tmp_path / "r", tmp_path / "runs", 1, None, lambda name, news: None
        )
        == {}
    )
    run = json.loads(file_of(tmp_path / "r").read_text())["runs"]["0"]
    assert run["curve"] == curve_of(METRICS)
    (row,) = beside_paper.compared(tmp_path / "r", [CELL], ["as-published"])
    assert row["curves"] == [run["curve"]]


def test_files_with_curves_stay_small(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    store.add(tmp_path, CELL, "as-published", e, SUMMARY, None)
    bare = len(file_of(tmp_path).read_bytes())
    found = store.add(
        tmp_path,
        CELL,
        "as-published",
        e,
        SUMMARY,
        None,
        [metric(t) for t in range(1, 1001)],
    )
    text = file_of(tmp_path).read_text()
    assert json.loads(text) == found and len(text) - bare < 2500
    assert text.count("\n") < 100, "a list of numbers is one line"
    assert '"rounds": [1, ' in text and '"guarantee": "no guarantee: ' in text


def test_words_in_brackets_are_written_as_they_are(tmp_path: Path) -> None:
    words = {"x": "[ a,\n  b ]", "y": [1, 2]}
    store.add(
        tmp_path,
        CELL,
        "as-published",
        recipes.experiment(CELL, "as-published", 0),
        SUMMARY,
        None,
    )
    again = {**SUMMARY, "versions": words}
    e = recipes.experiment(CELL, "as-published", 0)
    found = store.add(tmp_path, CELL, "as-published", e, again, None, [metric(1)])
    assert (
        json.loads(file_of(tmp_path).read_text()) == found
        and found["runs"]["0"]["versions"] == words
    )


def test_a_result_without_a_curve_still_reads_and_takes_more_seeds(
    tmp_path: Path,
) -> None:
    entered(tmp_path, CELL, 0.9)
    assert beside_paper.compared(tmp_path, [CELL], ["as-published"])[0]["curves"] == []
    e = recipes.experiment(CELL, "as-published", 1)
    found = store.add(tmp_path, CELL, "as-published", e, SUMMARY, None, [metric(1)])
    assert found["format"] == store.FORMAT == 1
    assert ["curve" in run for run in found["runs"].values()] == [False, True]
    (row,) = beside_paper.compared(tmp_path, [CELL], ["as-published"])
    assert len(row["curves"]) == 1 and row["seeds"] == [0, 1]


def test_numbers_are_told_without_curves(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    store.add(tmp_path, CELL, "as-published", e, SUMMARY, None, [metric(1)])
    (told,) = beside_paper.status(tmp_path)["cells"]
    assert "curves" not in told and told["ours"] == 90.0


# ------------------------------------------------------------------ results from before
def test_a_curve_is_taken_from_a_run_folder_that_is_still_there(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    before = store.add(tmp_path, CELL, "as-published", e, SUMMARY, "abc")
    queue.recall_curves([CELL], ["as-published", "sound"], tmp_path, tmp_path / "runs")
    assert store.read(tmp_path, CELL, "as-published") == before
    left_behind(tmp_path / "runs", SUMMARY)
    queue.recall_curves([CELL], ["as-published", "sound"], tmp_path, tmp_path / "runs")
    found = store.read(tmp_path, CELL, "as-published")
    assert found and found["runs"]["0"].pop("curve")["loss"] == [1.2346, 0.5]
    assert found == before, "nothing else has changed"


def test_a_folder_of_another_run_gives_no_curve(tmp_path: Path) -> None:
    before = store.add(
        tmp_path,
        CELL,
        "as-published",
        recipes.experiment(CELL, "as-published", 0),
        SUMMARY,
        "abc",
    )
    left_behind(tmp_path / "runs", {**SUMMARY, "seconds": 99.0})
    queue.recall_curves([CELL], ["as-published"], tmp_path, tmp_path / "runs")
    assert store.read(tmp_path, CELL, "as-published") == before
