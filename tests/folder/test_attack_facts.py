"""Attacks that were written come back as they were, also those of earlier versions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.attack_facts import (
    AttackFacts,
    CaseScores,
    EpsilonBounds,
    PaperAndOurs,
    PlaceFacts,
)
from dpdl.folder.files import read_record
from dpdl.privacy.epsilon import UNBOUNDED
from dpdl.privacy.threats import EAVESDROPPER
from tests.attacks.facts import BESIDE, FACTS, case_scores

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests" / "attacks" / "examples"
RESULTS = sorted((ROOT / "results" / "attack").glob("mnist-*.json"))


def test_a_file_of_an_attack_is_kept_byte_for_byte(tmp_path: Path) -> None:
    facts = AttackFacts.read(EXAMPLES / "attack.json")
    facts.write(tmp_path)
    written = (tmp_path / "attack.json").read_bytes()
    assert written == (EXAMPLES / "attack.json").read_bytes()


def test_numbers_have_types() -> None:
    facts = AttackFacts.read(EXAMPLES / "attack.json")
    assert [row.who for row in facts.rows] == ["ND", "DPDL-SOUND"]
    assert facts.epsilon["ND"] == UNBOUNDED and facts.epsilon["DPDL-SOUND"].bounded
    assert facts.paper is None and facts.membership is not None
    first, second = facts.membership
    assert first.epsilon.why and first.epsilon.certified is None
    assert second.epsilon.why is None and second.epsilon.canaries
    assert second.scores.gradient.fpr[0] == 0 and second.scores.gradient.fpr[-1] == 1


def test_everything_comes_back() -> None:
    content = json.loads(json.dumps(FACTS.to_json(), allow_nan=False))
    assert AttackFacts.from_json(content) == FACTS


def test_what_was_not_attacked_has_no_key() -> None:
    alone = replace(FACTS, membership=None, roc=None, paper=None).to_json()
    assert list(alone) == ["rows", "trivial", "epsilon", "gallery", "by_agent"]


def test_the_bounds_of_a_run_are_a_file_of_their_own() -> None:
    path = EXAMPLES / "bounds.json"
    bounds = EpsilonBounds.read(path)
    assert bounds.proven.bounded and bounds.confidence == 0.95
    assert bounds.to_json() == json.loads(path.read_text())


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_kept_results_are_read_and_written_alike(path: Path) -> None:
    content = json.loads(path.read_text())
    found = read_record(PlaceFacts, path)
    assert found.to_json() == content and list(found.to_json()) == list(content)
    assert len(found.rows) == 24 and len(found.paper) == 4
    assert found.note and found.runs["ND"].epsilon.against(EAVESDROPPER) == UNBOUNDED


def test_there_are_kept_results() -> None:
    assert len(RESULTS) == 3


def test_metrics_are_found_by_name() -> None:
    assert list(BESIDE.metrics) == ["mse", "psnr", "ssim"]
    assert BESIDE.metrics["ssim"] == PaperAndOurs(0.1957, None)


def test_a_row_of_version_0_1_0_does_not_name_the_runs_own_batch() -> None:
    content = case_scores().to_json()
    del content["own_batch"], content["run"]
    assert CaseScores.from_json(content) == case_scores(own_batch=None, run=None)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged: A record must be an object"),
        ('{"rows": []}', "is damaged: AttackFacts has no 'trivial'"),
        ('{"rows": [], "trivial": [], "epsilon": {}}', "it holds no attack"),
        ('{"rows": [{"who": 3}], "trivial": []}', r"rows\[0\].who must be a text"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: str, hint: str) -> None:
    path = tmp_path / "attack.json"
    path.write_text(content)
    with pytest.raises(InputError, match=hint) as refused:
        AttackFacts.read(path)
    assert str(path) in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        EpsilonBounds.read(tmp_path / "audit.json")
