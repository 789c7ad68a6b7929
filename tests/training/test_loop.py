"""The training loop: every round is paid for before it leaves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import dpdl
from dpdl.algorithms import NAMES
from dpdl.errors import InputError
from dpdl.folder.ledger import recompute
from dpdl.privacy.accounting import Step, epsilon
from dpdl.tasks.data import Dataset
from dpdl.training.launch import launch
from tests.conftest import small_module
from tests.training.links import altered, with_algorithm
from tests.training.small import SMALL, StopAt, changed, planned, train

PRIVATE = sorted(name for name, algorithm in NAMES.items() if not algorithm.fixed)
NEEDED = {"pdsl": {"validation": 20}}


def reported(run: Path) -> dict[str, float]:
    summary = json.loads((run / "summary.json").read_text())["epsilon"]
    return {
        name: value for name, value in summary.items() if name != "claimed_theorem1"
    }


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_the_ledger_gives_the_reported_epsilon(
    blobs: Dataset, tmp_path: Path, algorithm: str
) -> None:
    result = train(
        blobs,
        changed(algorithm=algorithm, sigma=9.0, **NEEDED.get(algorithm, {})),
        out=tmp_path / "run",
    )
    assert all(
        isinstance(value, float) for value in reported(tmp_path / "run").values()
    )
    assert recompute(tmp_path / "run" / "ledger.jsonl") == pytest.approx(
        reported(tmp_path / "run"), rel=1e-12
    )
    first = json.loads((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()[0])
    assert first["neighbours"][0] == [1, 4]
    assert first["sigma"] == 9.0
    declared = result.plan.algorithm.releases(result.plan.grad)
    assert [release["channel"] for release in first["releases"]] == [
        release.channel for release in declared
    ]


def test_a_round_is_on_the_bill_before_it_leaves(
    blobs: Dataset, tmp_path: Path
) -> None:
    run, p, billed = tmp_path / "run", planned(blobs, changed(rounds=3)), []
    honest = p.algorithm

    def round(self, state, batches, net, grad, t):
        billed.append((t, len((run / "ledger.jsonl").read_text().splitlines()) - 1))
        return honest.round(state, batches, net, grad, t)

    p = with_algorithm(p, altered(honest, round=round))
    launch(p, out=run, placement="alone", watch=None)
    assert billed == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("content", ["", "{", '{"sigma_eff": 3}\n'])
def test_a_damaged_ledger_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "ledger.jsonl").write_text(content)
    with pytest.raises(InputError, match="damaged"):
        recompute(tmp_path / "ledger.jsonl")


def test_interrupting_does_not_lose_the_bill(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(dpdl.DpdlError):
        train(blobs, SMALL, out=tmp_path / "run", watch=StopAt(5))
    assert len((tmp_path / "run" / "ledger.jsonl").read_text().splitlines()) == 1 + 5
    step = Step(0.5 / math.sqrt(30), 8, 120)
    assert epsilon([(step, 6)], 1e-5) > 0


def test_a_reproducible_run_pays_once_and_a_secure_one_twice_for_repeated_rounds(
    blobs: Dataset, tmp_path: Path
) -> None:
    class Crash(Exception):
        pass

    def crash(t: int, metrics) -> None:
        if t == 8:  # the last checkpoint is that of round 6
            raise Crash

    lines = {}
    for mode in ("reproducible", "secure"):
        run = tmp_path / mode
        with pytest.raises(Crash):
            train(blobs, changed(randomness=mode, sigma=9.0), out=run, watch=crash)
        dpdl.resume(run, data=blobs, model=small_module())
        lines[mode] = [
            json.loads(line)["round"]
            for line in (run / "ledger.jsonl").read_text().splitlines()[1:]
        ]
        assert recompute(run / "ledger.jsonl") == pytest.approx(
            reported(run), rel=1e-12
        )
    assert lines["reproducible"] == [*range(1, 9), *range(7, 13)]
    assert lines["secure"] == [*range(1, 9), *range(7, 13)]
