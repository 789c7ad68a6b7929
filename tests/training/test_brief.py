"""A result in one line: what came out, and against whom it is proven."""

from __future__ import annotations

import torch
from torch import nn

from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Numbers
from dpdl.training.brief import of_result
from dpdl.training.train import train as train_any
from tests.training.small import changed, train


def test_a_result_says_its_score_and_its_epsilon(blobs: Dataset) -> None:
    result = train(blobs, changed(algorithm="dp-dpsgd", sigma=2.0))
    text = of_result(result)
    assert text == repr(result)
    score = f"test accuracy {result.summary.score.mean:.1%}"
    epsilon = f"epsilon {result.summary.epsilon.proven['eavesdropper']}"
    assert score in text
    assert epsilon in text
    assert "protects nobody" in text


def test_where_nothing_is_proven_it_says_so(blobs: Dataset) -> None:
    text = of_result(train(blobs, changed(clip_unit="batch")))
    assert "nothing proven against" in text


def test_a_budget_that_ended_it_is_named(blobs: Dataset) -> None:
    e = changed(algorithm="dp-dpsgd", sigma=4.0, budget="0.2", rounds=40)
    result = train(blobs, e)
    assert result.stopped
    assert "stopped by a budget" in of_result(result)


def test_an_error_is_no_percentage() -> None:
    x = torch.randn(120, 2)
    data = Dataset("mine", x[:100], x[:100], x[100:], x[100:], predicts=Numbers(2))
    e = changed(dataset="mine", partition="iid", rounds=2, algorithm="dp-dpsgd")
    text = of_result(train_any(e, data=data, model=nn.Linear(2, 2)))
    assert "test squared error" in text
    assert "%" not in text
