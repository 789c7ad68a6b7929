"""summary.json is a record: nothing that an older dpdl wrote is lost or changed."""

from __future__ import annotations

import json

import pytest

from dpdl.errors import InputError
from dpdl.folder.summary import DeclaredRecords, Summary, Timing
from dpdl.privacy.epsilon import UNKNOWN
from tests.folder.measured import RUN, summary

STORED = (RUN / "summary.json").read_text()
LATER = ("model", "train_loss", "epsilon_note", "broken_gradients", "records")
LATER += ("gradient_path", "run_dir", "ledger_head")


def test_the_stored_summary_comes_back_byte_for_byte() -> None:
    found = Summary.from_json(json.loads(STORED)).to_json()
    assert json.dumps(found, indent=2) + "\n" == STORED


def test_the_stored_timing_comes_back_byte_for_byte() -> None:
    text = (RUN / "timing.json").read_text()
    timing = Timing.from_json(json.loads(text))
    assert json.dumps(timing.to_json(), indent=2) + "\n" == text
    assert 0 < timing.evaluation < timing["seconds"]


def test_values_are_read_as_in_the_file_and_cannot_be_set() -> None:
    found, content = summary(), json.loads(STORED)
    assert found["accuracy"]["mean"] == found.score.mean
    assert found["epsilon"]["eavesdropper"] == 82.9241091278731
    assert all(found[name] == value for name, value in content.items())
    with pytest.raises(TypeError):
        found["rounds"] = 5


def test_fields_are_typed() -> None:
    found = summary()
    assert found.records == DeclaredRecords(300, 730)
    assert found.epsilon.claimed_theorem1.bounded
    assert list(found.epsilon.proven) == ["eavesdropper", "neighbour", "final_model"]
    assert found.versions["dpdl"] == "0.2.0"


def test_a_summary_of_an_older_version_has_less_in_it() -> None:
    content = {k: v for k, v in json.loads(STORED).items() if k not in LATER}
    found = Summary.from_json(content)
    assert found.records is None
    assert found.ledger_head is None
    assert found.epsilon_note == ""
    content["epsilon"] = {"eavesdropper": "unbounded"}
    assert Summary.from_json(content).epsilon.claimed_theorem1 == UNKNOWN


@pytest.mark.parametrize("name", sorted({*json.loads(STORED)} - {*LATER}))
def test_what_every_version_wrote_is_needed(name: str) -> None:
    content = {k: v for k, v in json.loads(STORED).items() if k != name}
    missing = "score of the agents" if name == "accuracy" else f"'{name}'"
    with pytest.raises(InputError, match=f"has no {missing}"):
        Summary.from_json(content)
