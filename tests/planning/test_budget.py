"""How many rounds a budget affords, and a run that ends when it is spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpdl
from dpdl import graph as graphs
from dpdl.algorithms import SoundDPDL
from dpdl.errors import InputError, PrivacyRefused
from dpdl.planning.budget import Budget, allowance, parse
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.clip import PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset
from tests.conftest import small_module
from tests.training.small import changed, train


def question(kind: type = SoundDPDL, graph=None, records=6000, **more) -> PrivacyModel:
    graph = graph or graphs.complete(10)
    sizes = [records] * len(graph) if isinstance(records, int) else records
    settings = {"rounds": 1000, "delta": 1e-5, "size": 44_426} | more
    batch, clip = settings.pop("batch", 216), settings.pop("clip", PerSample(1.0))
    mechanism = Mechanism(clip, Poisson(batch, tuple(sizes)), 0.0)
    algorithm = kind(lr=0.1, momentum=0.7, alpha=1.5)
    return PrivacyModel(algorithm, graph, mechanism, **settings)


def test_secure_budgets_count_repeated_rounds(blobs: Dataset, tmp_path: Path) -> None:
    secure = changed(
        **BUDGET | {"budget": "1.6"}, randomness="secure", checkpoint_every=20
    )
    whole = train(blobs, secure, out=tmp_path / "whole")
    assert whole.stopped is None

    class Crash(Exception):
        pass

    def crash(t: int, metrics) -> None:
        if t == 10:
            raise Crash

    with pytest.raises(Crash):
        train(blobs, secure, out=tmp_path / "run", watch=crash)
    again = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert again.stopped
    assert again.summary["epsilon"]["eavesdropper"] <= 1.6
    assert again.summary["rounds"] < 12


def test_an_allowance_is_the_last_affordable_round() -> None:
    q = question(batch=64, records=[1000] * 9 + [500], rounds=400)
    found = allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(1.0, 1e-5)] * 10)
    assert found.agent == 9
    assert (
        q.with_noise(12.0).epsilon(9, EAVESDROPPER, found.rounds)
        <= 1.0
        < q.with_noise(12.0).epsilon(9, EAVESDROPPER, found.rounds + 1)
    )
    assert (
        allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(1000.0, 1e-5)] * 10).rounds
        == 400
    )


def test_a_budget_below_one_round_is_refused_with_what_would_do() -> None:
    with pytest.raises(
        PrivacyRefused,
        match=r"one round with sigma = 0\.5 costs .* affords all 1000 rounds",
    ):
        allowance(question().with_noise(0.5), EAVESDROPPER, [Budget(0.01, 1e-5)] * 10)


@pytest.mark.parametrize(
    "text", ["x", "1,2", "0", "-1", "nan", "", "1:2", "1:1e-5:3", "1:0"]
)
def test_bad_budgets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="budget"):
        parse(text, 5, 1e-5)


def test_agents_may_have_budgets_of_their_own() -> None:
    assert parse("2", 3, 1e-5) == [Budget(2.0, 1e-5)] * 3
    assert parse("1,2:1e-7,3", 3, 1e-5) == [
        Budget(1, 1e-5),
        Budget(2, 1e-7),
        Budget(3, 1e-5),
    ]
    q = question(batch=64, records=1000, rounds=400)
    strict = allowance(
        q.with_noise(12.0), EAVESDROPPER, [Budget(2.0, 1e-5)] * 9 + [Budget(2.0, 1e-9)]
    )
    assert strict.agent == 9
    assert (
        strict.rounds
        < allowance(q.with_noise(12.0), EAVESDROPPER, [Budget(2.0, 1e-5)] * 10).rounds
    )


BUDGET = {"budget": "1.2", "algorithm": "dpdl-sound", "sigma": 2.0}


def affordable() -> int:
    q = question(SoundDPDL, graphs.ring(5), 120, batch=8, rounds=12, size=77)
    return allowance(q.with_noise(2.0), EAVESDROPPER, [Budget(1.2, 1e-5)] * 5).rounds


@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_a_spent_budget_ends_the_run_before_it_is_exceeded(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    last = affordable()
    assert 1 < last < 12
    result = train(blobs, changed(**BUDGET), out=tmp_path / "run", placement=placement)
    assert result.stopped
    assert f"Stopped after round {last} of 12" in result.stopped
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["rounds"] == last
    assert summary["epsilon"]["eavesdropper"] <= 1.2
    again = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert again.stopped == result.stopped
    rounds = (tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[1:]
    assert len(rounds) == last
