"""Which of two scores is better depends on the score."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.experiment.experiment import Experiment
from dpdl.studies.better_score import lower_is_better, order


@pytest.mark.parametrize(
    ("option", "name", "lower"),
    [
        (None, "accuracy", False),
        (None, "label_accuracy", False),
        (None, "squared_error", True),
        (None, "of_another_package", False),
        ("accuracy", "accuracy", False),
        ("squared-error", "squared_error", True),
    ],
)
def test_errors_are_better_when_they_are_low(
    option: str | None, name: str, lower: bool
) -> None:
    assert lower_is_better(Experiment(score=option), name) is lower


def test_an_own_score_says_it_itself(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_scores_here.py").write_text(
        "def gain(outputs, targets): ...\n"
        "def regret(outputs, targets): ...\n"
        "regret.lower_is_better = True\n"
    )
    gain, regret = (
        Experiment(score=f"own_scores_here:{name}") for name in ("gain", "regret")
    )
    assert not lower_is_better(gain, "gain")
    assert lower_is_better(regret, "regret")


def test_the_best_comes_first_and_a_missing_score_last() -> None:
    scores = [0.5, None, 0.9, 0.1]
    high = sorted(scores, key=lambda one: order(one, lower=False))
    low = sorted(scores, key=lambda one: order(one, lower=True))
    assert high == [0.9, 0.5, 0.1, None]
    assert low == [0.1, 0.5, 0.9, None]
