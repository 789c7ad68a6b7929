"""The summary of a run is made of its plan and its last evaluated round."""

from __future__ import annotations

from dataclasses import replace

import dpdl
from dpdl.folder.summary import DeclaredRecords
from dpdl.privacy.epsilon import UNKNOWN
from dpdl.tasks.data import Dataset
from dpdl.training.summary import summarise
from tests.folder.measured import metrics
from tests.training.small import changed, planned


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
