"""experiment.json is a record that other versions may have written."""

from __future__ import annotations

import json

import pytest

from dpdl.errors import InputError
from dpdl.folder.run_facts import RunFacts
from tests.folder.measured import RUN

STORED = (RUN / "experiment.json").read_text()


def test_the_stored_file_comes_back_byte_for_byte() -> None:
    facts = RunFacts.from_json(json.loads(STORED))
    assert json.dumps(facts.to_json(), indent=2) + "\n" == STORED
    assert (facts.format, facts.version) == (1, "0.2.0")
    assert facts.model_shapes["1.weight"] == (64, 64)


@pytest.mark.parametrize("name", ["format", "version", "data_sha256", "model_shapes"])
def test_what_another_version_did_not_write_is_none_and_stays_away(name: str) -> None:
    content = {k: v for k, v in json.loads(STORED).items() if k != name}
    facts = RunFacts.from_json(content)
    assert getattr(facts, name) is None
    assert facts.to_json() == content


def test_what_another_version_wrote_besides_is_kept() -> None:
    content = {
        **json.loads(STORED),
        "format": 7,
        "site_sha256": {"0": "ab"},
        "new": [1],
    }
    facts = RunFacts.from_json(content)
    assert facts.more == {"new": [1]}
    assert facts.site_sha256 == {"0": "ab"}
    assert facts.to_json() == content


def test_options_are_changed_in_a_copy() -> None:
    facts = RunFacts(experiment={"rounds": 4, "lr": 0.1})
    assert facts.with_options(rounds=9).experiment == {"rounds": 9, "lr": 0.1}
    assert facts.experiment["rounds"] == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "has no 'experiment'"),
        ({"experiment": []}, "experiment must be an object"),
        ({"experiment": {}, "model_shapes": {"w": [1.5]}}, "must be a whole number"),
    ],
)
def test_a_damaged_file_is_refused(content: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        RunFacts.from_json(content)
