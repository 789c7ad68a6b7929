"""The card of a result shows scores and epsilons, and nothing that no epsilon covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dpdl
from dpdl.privacy.epsilon import UNBOUNDED
from dpdl.privacy.epsilons import Epsilons
from dpdl.training.card import SIMULATED, TESTED_AT_SITES
from tests.sites import write_sites
from tests.training.small import changed, train

SEED = 987_654_321


@pytest.fixture(scope="module")
def result(blobs) -> dpdl.Result:
    return train(blobs, changed(seed=SEED, algorithm="dp-dpsgd"))


def text(html: str) -> str:
    return " ".join(ElementTree.fromstring(html).itertext())


def test_scores_and_every_epsilon_are_shown(result: dpdl.Result) -> None:
    html = result._repr_html_()
    shown, score = text(html), result.summary.score
    assert "dp-dpsgd on blobs, ring of 5 agents, 12 rounds" in shown
    assert f"{score.mean:.2%}" in shown and f"{score.average_model:.2%}" in shown
    for name, value in result.summary.epsilon.items():
        assert (str(value) in shown) == value.known, name
    assert html.count("<svg") == 2
    assert SIMULATED in shown


def test_nothing_private_is_shown(result: dpdl.Result) -> None:
    shown = result._repr_html_()
    summary = result.summary
    assert str(SEED) not in shown and "loss" not in shown
    for value in (summary.train_loss, summary.records.fewest, summary.seconds):
        assert f"{value:.4g}" not in text(shown).split()


def test_what_is_unbounded_is_said_and_has_no_curve(result: dpdl.Result) -> None:
    proven = {"eavesdropper": UNBOUNDED}
    summary = replace(result.summary, epsilon=Epsilons(proven=proven))
    metrics = [replace(m, epsilon=UNBOUNDED) for m in result.metrics]
    html = replace(result, summary=summary, metrics=metrics)._repr_html_()
    assert "unbounded" in html and html.count("<svg") == 1


def test_scores_on_a_sites_own_records_are_left_out(tmp_path: Path) -> None:
    shared = {"dataset": "digits", "sites": write_sites(tmp_path), "rounds": 2}
    experiment = dpdl.Experiment(**shared, batch=8, sigma=1.0, algorithm="dp-dpsgd")
    found = dpdl.train(experiment)
    shown = text(found._repr_html_())
    assert TESTED_AT_SITES in shown and "accuracy" not in shown
    assert f"{found.summary.score.mean:.2%}" not in shown


def test_why_a_run_was_stopped_is_said(result: dpdl.Result) -> None:
    assert "a budget <&>" in text(replace(result, stopped="a budget <&>")._repr_html_())
