"""The paper's attack tables: its numbers, the runs they need, and the command that makes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.attacks import paper
from dpdl.attacks.harness import Effort
from dpdl.errors import InputError
from dpdl.folder.attack_facts import AttackFacts, PaperAndOurs
from dpdl.paper.cells import AttackedPlace
from dpdl.privacy.epsilon import UNBOUNDED
from tests.attacks.facts import BESIDE, MEAN, case_scores
from tests.folder.measured import summary


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        (("fashion-mnist", "ring", 10), "mnist"),
        (("mnist", "star", 10), "ring"),
        (("mnist", "ring", 12), "10, 20, 30"),
    ],
)
def test_what_is_not_in_the_paper_is_refused(cell, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        paper.experiments(AttackedPlace(*cell), seed=0)


def test_both_runs_are_the_same_but_for_their_protection() -> None:
    runs = paper.experiments(AttackedPlace("cifar10", "ring", 20), seed=3)
    differ = {
        k for k, v in runs["nd"].as_dict().items() if v != runs["dpdl"].as_dict()[k]
    }
    assert differ == {"noise", "clip_unit", "epsilon"}
    assert (
        runs["dpdl"].epsilon == 4.0
        and runs["nd"].noise == "none"
        and runs["nd"].rounds == 801
    )
    assert (
        paper.experiments(AttackedPlace("mnist", "complete", 10), seed=0)["nd"].lr
        == 0.01
    )


def test_one_link_out_of_every_agent_is_recorded() -> None:
    e = paper.experiments(AttackedPlace("mnist", "bipartite", 10), seed=0)["nd"]
    request = paper.PAPER.recording_request(e, [4, 1])
    assert request.links is not None
    assert sorted(i for i, _ in request.links) == list(range(10))
    assert request.rounds == (200, 400, 800) and request.batches == (1, 4)


def test_rows_of_the_last_round_stand_beside_the_papers() -> None:
    row = case_scores(mse=0.01)
    rows = [row, replace(row, round=200), replace(row, scenario="self")]
    (found,) = paper.PAPER.compared(rows, AttackedPlace("mnist", "ring", 10))
    assert found.scenario == "nd-cg" and found.mse == PaperAndOurs(0.85, 0.01)
    assert (found.dataset, found.graph, found.agents) == ("mnist", "ring", 10)


def test_what_is_kept_says_how_it_came_about(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(summary(sigma=1.23456).to_json()))
    row = case_scores(run=str(tmp_path), mse=0.123456, batch=4, images=40)
    facts = AttackFacts((row,), (MEAN,), {"ND": UNBOUNDED}, paper=(BESIDE,))
    kept = paper.kept(facts, AttackedPlace("mnist", "ring", 20), Effort(iterations=7))
    assert kept.what == (
        "medians over 40 images, a batch of each of the first 10 agents; batches of "
        "4 records, played beside a run with batches of 216; labels known; peel, "
        "7 iterations, 16 starts"
    )
    assert kept.rows[0].mse == 0.1235 and kept.rows[0].run is None
    assert kept.runs["ND"].sigma == 1.2346
    assert kept.runs["ND"].accuracy == round(summary().score.average_model, 4)
    assert (kept.dataset, kept.graph, kept.agents) == ("mnist", "ring", 20)
    assert kept.paper == (BESIDE,) and kept.note is None
