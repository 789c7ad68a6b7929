"""One line of metrics.jsonl is a record: nothing that an older dpdl wrote is lost or changed."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from dpdl.errors import InputError
from dpdl.folder.metrics import AgentLosses, Metrics
from dpdl.privacy.epsilon import UNBOUNDED
from tests.folder.measured import RUN, metrics

LINES = (RUN / "metrics.jsonl").read_text().splitlines()


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_stored_line_comes_back_with_the_same_keys_and_values(line: str) -> None:
    content = json.loads(line)
    found = Metrics.from_json(content).to_json()
    assert found == content
    assert json.loads(json.dumps(found, allow_nan=False)) == content


def test_fields_are_what_the_line_has() -> None:
    last = Metrics.from_json(json.loads(LINES[-1]))
    assert (last.round, last.bytes_sent, last.broken_gradients) == (4, 1385280, 0)
    assert last.score.name == "accuracy"
    assert last.score.mean == last["accuracy"]["mean"]
    assert last.train_loss.min < last.train_loss.mean < last.train_loss.max
    assert list(last.diagnostics) == ["clip_fraction", "cosine", "coefficient"]
    assert last.epsilon.value == last["epsilon"]
    with pytest.raises(FrozenInstanceError):
        last.round = 5


def test_a_regression_has_its_error_in_place_of_an_accuracy() -> None:
    content = metrics(3, 0.7, name="squared_error").to_json()
    assert "accuracy" not in content
    assert content["squared_error"]["worst"] == pytest.approx(0.6)
    assert Metrics.from_json(content).score.name == "squared_error"


def test_what_nobody_may_know_is_null() -> None:
    content = metrics(1).to_json()
    assert content["train_loss"] == {"mean": None, "min": None, "max": None}
    assert "clip_fraction" not in content
    again = Metrics.from_json({**content, "epsilon": "unbounded", "cosine": None})
    assert again.epsilon == UNBOUNDED
    assert again.diagnostics == {"cosine": None}
    assert again.train_loss == AgentLosses()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"round": 0}, "round must be at least 1, not 0"),
        ({"round": 1.5}, "round must be a whole number"),
        ({"seconds": "long"}, "seconds must be a number"),
        ({"cosine": "wide"}, "cosine must be a number"),
        ({"epsilon": -1}, "epsilon must be a number from 0 on"),
    ],
)
def test_a_damaged_line_is_refused(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Metrics.from_json({**json.loads(LINES[0]), **change})
