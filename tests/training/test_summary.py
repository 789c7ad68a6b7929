"""The summary of a run is made of its plan and its last evaluated round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import dpdl
from dpdl.folder.summary import DeclaredRecords, Summary
from dpdl.planning.plan import Plan
from dpdl.privacy.epsilon import UNKNOWN
from dpdl.tasks.data import Dataset
from dpdl.training.summary import summarise
from tests.folder.measured import metrics
from tests.training.small import SMALL, changed, planned


def test_it_has_the_numbers_of_the_plan_and_of_the_last_round(blobs: Dataset) -> None:
    p, last = planned(blobs), metrics(12, 0.9, loss=0.25)
    s = summarise(p, last, 12, "here", "head")
    assert (s.algorithm, s.graph, s.agents, s.rounds) == ("dpdl", "ring", 5, 12)
    assert (s.sigma, s.parameters) == (p.privacy.sigma, 77)
    assert (s.score, s.train_loss) == (last.score, 0.25)
    assert (s.bytes_sent, s.seconds) == (last.bytes_sent, last.seconds)
    declared = p.privacy.records
    assert s.records == DeclaredRecords(min(declared), max(declared))
    assert (s.run_dir, s.ledger_head) == ("here", "head")
    assert s.versions["dpdl"] == dpdl.__version__
    assert set(s.versions) == {"dpdl", "python", "torch", "numpy"}


def test_single_agents_are_not_in_a_summary(blobs: Dataset) -> None:
    last = metrics(12)
    last = replace(last, score=replace(last.score, agents=(0.1, 0.9)))
    content = summarise(planned(blobs), last, 12, None).to_json()
    assert list(content["accuracy"]) == ["mean", "worst", "best", "average_model"]


def test_what_is_charged_is_what_is_stated(blobs: Dataset) -> None:
    p = planned(blobs, changed(sigma=9.0))
    few, many = (summarise(p, metrics(12), charged, None) for charged in (12, 20))
    assert few.epsilon == p.stated.epsilons(12)
    assert many.epsilon == p.stated.epsilons(20)
    assert "over 12 rounds" in few.privacy_statement
    assert "over 20 rounds" in many.privacy_statement
    assert few.epsilon_note == p.stated.note()


def test_what_nobody_may_know_stays_unknown(blobs: Dataset) -> None:
    last = replace(metrics(12), broken_gradients=None)
    s = summarise(planned(blobs), last, 12, None)
    assert s.train_loss is None
    assert s.broken_gradients is None
    assert s.to_json()["run_dir"] is None


def test_another_algorithm_has_no_claim(blobs: Dataset) -> None:
    p = planned(blobs, changed(algorithm="dp-dpsgd", alpha=None))
    assert summarise(p, metrics(1), 1, None).epsilon.claimed_theorem1 == UNKNOWN


@pytest.fixture(scope="module")
def p(blobs: Dataset) -> Plan:
    return planned(blobs)


def test_what_was_measured_last_is_the_result(p: Plan) -> None:
    last = metrics(9, mean=0.7, loss=1.25)
    found = summarise(p, last, 9, "runs/a", "head")
    assert found.rounds == 9
    assert found.score == last.score
    assert found.train_loss == 1.25
    assert (found.consensus_distance, found.bytes_sent) == (0.25, 9000)
    assert (found.broken_gradients, found.seconds) == (0, last.seconds)
    assert (found.run_dir, found.ledger_head) == ("runs/a", "head")


def test_the_plan_says_what_ran(p: Plan) -> None:
    found = summarise(p, metrics(12), 12, None)
    assert (found.algorithm, found.graph) == (SMALL.algorithm, "ring")
    assert (found.agents, found.seed, found.delta) == (5, SMALL.seed, SMALL.delta)
    assert (found.parameters, found.sigma) == (77, 0.5)
    assert found.records is not None
    assert (found.records.fewest, found.records.most) == (120, 120)
    assert found.epsilon_note == p.stated.note()


def test_rounds_that_were_charged_count_and_not_those_that_were_measured(
    blobs: Dataset,
) -> None:
    p = planned(blobs, changed(algorithm="dp-dpsgd"))
    once, twice = (summarise(p, metrics(6), charged, None) for charged in (6, 12))
    assert once.rounds == twice.rounds == 6
    assert once.epsilon == p.stated.epsilons(6)
    assert twice.epsilon == p.stated.epsilons(12) != once.epsilon
    assert twice.privacy_statement == p.stated.prose(12)


def test_a_score_has_its_own_name(p: Plan) -> None:
    found = summarise(p, metrics(3, name="squared_error"), 3, None)
    assert found["squared_error"]["mean"] == 0.5
    assert "accuracy" not in found


def test_unequal_sites_declare_a_fewest_and_a_most(blobs: Dataset) -> None:
    uneven = planned(blobs, changed(partition="quantity", records="exact"))
    found = summarise(uneven, metrics(1), 1, None).records
    assert found is not None
    assert found.fewest == min(uneven.privacy.records) < found.most
    assert found.most == max(uneven.privacy.records)


def test_numbers_of_another_type_take_the_plain_path(blobs: Dataset) -> None:
    p = planned(blobs, changed(dtype="float64"))
    assert summarise(p, metrics(1), 1, None).gradient_path == "plain"


def test_versions_are_those_that_run(p: Plan) -> None:
    versions = summarise(p, metrics(1), 1, None).versions
    assert versions["dpdl"] == dpdl.__version__
    assert versions["torch"] == torch.__version__
    assert versions["numpy"] == np.__version__
    assert versions["python"].count(".") == 2
    assert all(type(version) is str for version in versions.values())


def test_a_summary_comes_back_from_json(p: Plan) -> None:
    found = summarise(p, metrics(4, loss=0.5), 4, "runs/a", "head")
    assert Summary.from_json(found.to_json()) == found
