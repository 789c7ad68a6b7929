"""Scores: one number per record, a name that is free, and errors in one sentence."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

import dpdl
from dpdl.errors import Diverged, InputError
from dpdl.folder.metrics import Metrics
from dpdl.folder.summary import Summary
from dpdl.tasks.scores import (
    ACCURACY,
    IN_METRICS,
    SCORES,
    TAKEN,
    Score,
    as_score,
    score_of,
)
from tests.conftest import small_data

LOGITS = torch.tensor([[0.1, 0.9], [2.0, -1.0], [0.0, 3.0]])
ROWS = torch.tensor([[1.0, -2.0], [0.5, 4.0]])


def half(outputs: Tensor, targets: Tensor) -> Tensor:
    return torch.full((len(outputs),), 0.5)


# ------------------------------------------------------------------ the named scores
def test_accuracy_counts_the_largest_logit() -> None:
    assert ACCURACY.total(LOGITS, torch.tensor([1, 0, 0])) == 2
    assert not ACCURACY.lower_is_better


def test_label_accuracy_is_the_share_of_labels_that_are_right() -> None:
    score = score_of("label-accuracy")
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert score.total(ROWS, targets) == 1 + 0.5
    assert score.name == "label_accuracy"


def test_squared_error_is_a_mean_over_numbers_and_lower_is_better() -> None:
    score = score_of("squared-error")
    targets = torch.tensor([[0.0, 0.0], [0.5, 2.0]])
    assert score.total(ROWS, targets) == (1 + 4) / 2 + 4 / 2
    assert score.lower_is_better


def test_sums_of_parts_are_the_sum_of_all() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(40, 3, generator=generator)
    targets = torch.randn(40, 3, generator=generator)
    score = score_of("squared-error")
    parts = zip(outputs.split(7), targets.split(7), strict=True)
    total = sum(score.total(*part) for part in parts)
    assert total == pytest.approx(score.total(outputs, targets), rel=1e-12)


def test_records_are_summed_in_double_precision() -> None:
    first = Score("first", lambda outputs, targets: outputs[:, 0])
    outputs = torch.tensor([[2.0**25], [1], [1], [1]])
    assert first.total(outputs, outputs) == 2**25 + 3  # not a number of float32


def test_an_unknown_score_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'accuracy'"):
        score_of("acuracy")
    with pytest.raises(InputError, match=r"label-accuracy.*own module:function"):
        score_of("f1")


@pytest.mark.parametrize(
    ("score", "value", "text"),
    [
        (ACCURACY, 0.98765, "98.77%"),
        (SCORES["squared-error"], 0.0123456, "0.01235"),
        (SCORES["squared-error"], 1234.56, "1235"),
    ],
)
def test_people_read_shares_in_percent(score: Score, value: float, text: str) -> None:
    assert score.show(value) == text


# ------------------------------------------------------------------ own scores
def test_a_function_is_a_score_by_its_own_name() -> None:
    score = as_score(half)
    assert (score.name, score.lower_is_better, score.percent) == ("half", False, False)
    assert score.total(LOGITS, LOGITS) == 1.5


def test_a_function_may_say_that_lower_is_better() -> None:
    def distance(outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets).abs().sum(1)

    distance.lower_is_better = True  # type: ignore[attr-defined]
    assert as_score(distance).lower_is_better
    distance.lower_is_better = False  # type: ignore[attr-defined]
    assert not as_score(distance).lower_is_better


def test_a_score_stays_itself() -> None:
    assert as_score(ACCURACY) is ACCURACY


def test_an_object_that_can_be_called_is_named_after_its_class() -> None:
    class Half:
        def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
            return half(outputs, targets)

    assert as_score(Half()).name == "Half"
    assert as_score(partial(half)).name == "partial"


def test_a_function_of_the_users_own_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def near(outputs, targets):\n    return (outputs - targets).abs().mean(1) < 1\n"
    (tmp_path / "own_scores.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    score = score_of("own_scores:near")
    assert score.name == "near"
    assert score.total(ROWS, ROWS + 0.5) == 2
    with pytest.raises(InputError, match="The score 'own_scores:far' does not exist"):
        score_of("own_scores:far")


def fails(outputs: Tensor, targets: Tensor) -> Tensor:
    raise KeyError("no such\nkey")


def scalar(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.mean()


def row_each(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs


def number(outputs: Tensor, targets: Tensor) -> float:
    return 0.5


def imaginary(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs[:, 0] * 1j


def logarithm(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs[:, 0].log()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails, r"The score 'fails' failed: KeyError: 'no such\\nkey'\."),
        (scalar, r"one number per record, shape \(3,\), not \(\)\."),
        (row_each, r"shape \(3,\), not \(3, 2\)\."),
        (number, "a tensor, not float"),
        (imaginary, "one number per record, not torch.complex64"),
        (logarithm, "'logarithm' is not finite for some records"),
    ],
)
def test_an_own_score_that_is_wrong_is_refused_in_one_sentence(
    function, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_score(function).total(LOGITS, LOGITS)
    assert "\n" not in str(caught.value)


def test_a_score_object_that_fails_is_refused_as_well() -> None:
    with pytest.raises(InputError, match="The score 'mine' failed"):
        Score("mine", fails).total(LOGITS, LOGITS)


def test_outputs_that_are_not_finite_are_the_fault_of_training() -> None:
    with pytest.raises(Diverged, match="choose a smaller lr"):
        score_of("squared-error").total(ROWS / 0, ROWS)


# ------------------------------------------------------------------ names
@pytest.mark.parametrize("name", ["", "two words", "label-accuracy", "2nd", "<lambda>"])
def test_a_name_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"cannot be named {name!r}")):
        Score(name, half)


def test_a_function_without_a_name_is_refused_as_a_score() -> None:
    with pytest.raises(InputError, match="cannot be named '<lambda>'"):
        as_score(lambda outputs, targets: outputs[:, 0])


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_a_name_that_is_taken_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InputError, match="key in metrics") as caught:
        Score(name, half)
    assert str(caught.value).count(". ") == 0


def test_all_other_keys_of_metrics_and_summaries_are_taken() -> None:
    e = dpdl.Experiment(
        model="mlp", agents=3, rounds=1, algorithm="dpdl", noise="none", batch=5
    )
    result = dpdl.train(e, data=small_data())
    assert set(result.metrics[0].to_json()) == {*IN_METRICS, "accuracy"}
    assert set(result.summary.to_json()) <= {*TAKEN, "accuracy"}
    names = {one.name for one in (*fields(Metrics), *fields(Summary))}
    assert names - {"score", "diagnostics"} <= TAKEN
