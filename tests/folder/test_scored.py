"""The score of a record is in JSON under its own name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import final

import pytest

from dpdl.errors import InputError
from dpdl.folder.scored import AgentScores, Scored

VALUES = {"mean": 0.5, "worst": 0.25, "best": 1.0, "average_model": 0.75}


@final
@dataclass(frozen=True)
class Scrap(Scored):
    before: int
    score: AgentScores
    after: int = 2


@pytest.mark.parametrize("name", ["accuracy", "squared_error", "score", "name"])
def test_the_key_is_the_name_of_the_score_and_stays_in_its_place(name: str) -> None:
    scrap = Scrap(1, AgentScores(name, **VALUES))
    content = scrap.to_json()
    assert list(content.items()) == [("before", 1), (name, VALUES), ("after", 2)]
    assert Scrap.from_json(json.loads(json.dumps(content))) == scrap


def test_single_agents_are_written_where_they_are_known() -> None:
    scrap = Scrap(1, AgentScores("accuracy", **VALUES, agents=(0.25, 0.75)))
    content = json.loads(json.dumps(scrap.to_json()))
    assert content["accuracy"] == {**VALUES, "agents": [0.25, 0.75]}
    assert Scrap.from_json(content) == scrap
    assert Scrap.from_json({"before": 1, "accuracy": VALUES}).score.agents is None


def test_values_are_read_as_in_the_file() -> None:
    scrap = Scrap(1, AgentScores("accuracy", **VALUES))
    assert scrap["accuracy"]["worst"] == 0.25
    assert scrap["after"] == 2
    assert "accuracy" in scrap
    assert "score" not in scrap
    with pytest.raises(KeyError):
        scrap["score"]
    with pytest.raises(TypeError):
        scrap["after"] = 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"before": 1}, r"A record has no score of the agents \(mean, worst, best"),
        ({"before": 1, "accuracy": {"mean": 0.5}}, "has no score of the agents"),
        (
            {"before": 1, "accuracy": {**VALUES, "best": "x"}},
            "score.best must be a number",
        ),
        ([], "must be an object"),
    ],
)
def test_a_record_without_its_score_is_refused(content, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Scrap.from_json(content)


def test_accuracies_are_shown_in_percent_and_errors_as_numbers() -> None:
    accuracy = AgentScores("label_accuracy", **VALUES)
    assert (accuracy.label, accuracy.show(0.25)) == ("label accuracy", "25.00%")
    assert accuracy.show(0.25, 1) == "25.0%"
    error = AgentScores("squared_error", **VALUES)
    assert (error.label, error.show(0.123456)) == ("squared error", "0.1235")
