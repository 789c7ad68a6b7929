"""Own losses and scores: regression, several labels, and functions of the user's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping, load
from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Labels, Numbers
from dpdl.training.train import resume, train

SHARED: dict[str, Any] = {
    "algorithm": "dp-dpsgd",
    "agents": 4,
    "graph": "complete",
    "partition": "iid",
    "rounds": 60,
    "batch": 32,
    "lr": 0.3,
    "clip": 1.0,
    "sigma": 0.3,
    "eval_every": 30,
}
TRUTH = torch.tensor([[1.0, -2.0], [0.5, 0.0], [0.0, 1.5]])


def records(count: int = 500) -> tuple[Tensor, Tensor]:
    """Inputs with the numbers that a linear model finds."""
    x = torch.randn(count, 3, generator=torch.Generator().manual_seed(0))
    return x, x @ TRUTH


def experiment(**values: Any) -> Experiment:
    return from_mapping({**SHARED, "dataset": "mine", **values})


def regression() -> Dataset:
    x, y = records()
    return Dataset("mine", x[:400], y[:400], x[400:], y[400:], predicts=Numbers(2))


def test_numbers_are_learned_by_their_squared_error() -> None:
    result = train(experiment(), data=regression(), model=nn.Linear(3, 2))
    score = result.summary.score
    assert score.name == "squared_error"
    assert score.best <= score.mean <= score.worst  # lower is better
    assert score.mean < 0.1 < float(regression().y_test.square().mean())
    assert result.summary["squared_error"]["mean"] == score.mean
    assert "accuracy" not in result.summary.to_json()


def test_several_labels_are_learned_by_the_share_that_is_right() -> None:
    x, y = records()
    labels = (y > 0).float()
    data = Dataset(
        "mine", x[:400], labels[:400], x[400:], labels[400:], predicts=Labels(2)
    )
    result = train(experiment(), data=data, model=nn.Linear(3, 2))
    assert result.summary.score.name == "label_accuracy"
    assert result.summary.score.mean > 0.9


def absolute(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).abs().mean()


def near(outputs: Tensor, targets: Tensor) -> Tensor:
    return ((outputs - targets).abs() < 0.5).float().mean(dim=1)


def far(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).abs().mean(dim=1)


far.lower_is_better = True  # type: ignore[attr-defined]


def test_functions_in_python_are_loss_and_score() -> None:
    linear = nn.Linear(3, 2)
    result = train(
        experiment(), data=regression(), model=linear, loss=absolute, score=near
    )
    assert result.summary.score.name == "near"
    assert result.summary.score.mean > 0.8
    other = train(experiment(), data=regression(), model=linear, score=near)
    assert not torch.equal(result.models, other.models)  # another loss
    low = train(experiment(), data=regression(), model=linear, score=far)
    assert torch.equal(low.models, other.models)  # the score does not change training
    assert low.summary.score.best < low.summary.score.worst


MINE = """
import torch

def pinball(outputs, targets):
    gap = targets - outputs
    return torch.maximum(0.5 * gap, -0.5 * gap).mean()

def near(outputs, targets):
    return ((outputs - targets).abs() < 0.5).float().mean(dim=1)

def wrong(outputs, targets):
    return torch.zeros(())
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of the user's, records in a file, and an experiment."""
    monkeypatch.chdir(tmp_path)
    x, y = records()
    np.savez("houses.npz", x=x.numpy(), y=y.numpy())
    (tmp_path / "own_task.py").write_text(MINE)
    options = {k: v for k, v in SHARED.items() if k not in ("algorithm", "lr")}
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    lines += ['dataset = "houses.npz"', 'predict = "numbers"']
    lines += ['loss = "own_task:pinball"', 'score = "own_task:near"']
    lines += ["[algorithm]", 'name = "dp-dpsgd"', "lr = 0.3"]
    (tmp_path / "e.toml").write_text("\n".join(lines))
    yield tmp_path
    sys.modules.pop("own_task", None)


def test_functions_in_a_file_are_loss_and_score(mine: Path) -> None:
    e = load(mine / "e.toml", None, {})
    result = train(e, out="run")
    assert result.summary.score.name == "near"
    assert result.summary.score.mean > 0.5
    written = json.loads((mine / "run/summary.json").read_text())
    assert set(written["near"]) == {"mean", "worst", "best", "average_model"}
    again = resume("run", rounds=62)
    assert again.summary.rounds == 62
    assert again.metrics[0].score.name == "near"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"loss": "cross-entropie"}, "Unknown loss 'cross-entropie'. Did you mean"),
        ({"loss": "own_task:no"}, "own_task has no no"),
        ({"score": "own_task:wrong"}, "must return one number per record"),
        ({"score": "accuracy"}, r"one number per record, shape \(2,\), not \(2, 2\)"),
        ({"partition": "shards"}, "is by classes, and records of houses.npz have none"),
        ({"loss": "own_task:near"}, "must return one number for a batch"),
        ({"predict": "2 wishes"}, "predict must be classes, labels or numbers"),
        ({"predict": "classes"}, "y must be integers"),
        ({"predict": "3 numbers"}, "of shape"),
    ],
)
def test_what_is_no_task_is_refused(
    change: dict[str, str], said: str, mine: Path
) -> None:
    with pytest.raises(InputError, match=said):
        train(load(mine / "e.toml", None, change))
