"""Scores of reconstructions stand beside those of pictures that need no attack."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dpdl.attacks.harness import Reconstructions
from dpdl.attacks.image_scores import MOST_PSNR, ImageScore
from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.scoring import Attacked, _means, medians
from dpdl.planning.plan import Plan
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.training.train import replan
from tests.attacks.runs import record_digits


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return record_digits(tmp_path_factory.mktemp("runs") / "digits")


@pytest.fixture(scope="module")
def plan(run: Path) -> Plan:
    return replan(run)


def outcome(plan: Plan, shift: float = 0.0, batch: int = 2) -> Reconstructions:
    """Six records of the data, rebuilt exactly but for a shift."""
    x = plan.data.inputs(plan.data.x[: 3 * batch], torch.float32)
    truth = x.view(3, batch, 1, 8, 8)
    true = plan.data.y[: 3 * batch].view(3, batch)
    read = true.clone()
    read[0, 0] = (true[0, 0] + 1) % 10
    case = AttackCase("mm", 2, batch, "recovered")
    return Reconstructions(
        case, "inverting", truth + shift, truth, read, true, torch.zeros(3)
    )


def test_a_row_has_medians_and_how_they_came_about(run: Path, plan: Plan) -> None:
    found = outcome(plan, 0.1)
    (row,) = Attacked(run, [found], plan).rows()
    assert (row.run, row.who, row.scenario, row.round) == (str(run), "ND", "mm", 2)
    assert (row.batch, row.own_batch, row.images) == (2, 16, 6)
    assert (row.labels, row.method) == ("recovered", "inverting")
    assert row.mse == pytest.approx(0.01, rel=1e-3)
    assert row.label_recovery in (5 / 6, 1.0)  # the wrong label may be the other's
    assert row.best_trivial_mse > row.mse
    assert row.p_better_than_trivial == 1 / 8, "three batches, all better"
    json.dumps(row.to_json(), allow_nan=False)


def test_labels_that_cannot_be_read_have_no_rate(run: Path, plan: Plan) -> None:
    unread = replace(outcome(plan), read_labels=torch.zeros(3, 0, dtype=torch.int64))
    assert Attacked(run, [unread], plan).rows()[0].label_recovery is None


def test_exact_pictures_have_a_finite_psnr(run: Path, plan: Plan) -> None:
    assert Attacked(run, [outcome(plan)], plan).rows()[0].psnr == MOST_PSNR


def test_trivial_pictures_are_scored_against_the_same_images(
    run: Path, plan: Plan
) -> None:
    attacked = Attacked(run, [outcome(plan)], plan)
    rows = attacked.trivial_rows()
    assert [row.name for row in rows] == ["black", "grey", "mean", "random"]
    best = min(rows, key=lambda row: row.mse)
    case = attacked.rows()[0]
    assert (case.best_trivial, case.best_trivial_mse) == (best.name, best.mse)


def test_who_is_attacked_is_the_algorithm_or_nd(run: Path, plan: Plan) -> None:
    assert Attacked(run, [], plan, suffix=" ring").who == "ND ring"
    noisy = replace(
        plan, public=replace(plan.public, privacy=plan.privacy.with_noise(2.0))
    )
    assert Attacked(run, [], noisy).who == "DPDL"


def test_the_proven_epsilon_is_that_of_the_summary_if_there_is_one(
    run: Path, plan: Plan, tmp_path: Path
) -> None:
    assert Attacked(run, [], plan).epsilon == UNBOUNDED
    assert Attacked(tmp_path, [], plan).epsilon == UNBOUNDED, "it is computed"
    text = (run / "summary.json").read_text()
    summary = json.loads(text)
    summary["epsilon"]["eavesdropper"] = 1.25
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert Attacked(tmp_path, [], plan).epsilon == Epsilon(1.25)


def test_medians_are_taken_number_by_number() -> None:
    scores = [
        ImageScore(1.0, 9.0, 0.3, 5.0),
        ImageScore(3.0, 7.0, 0.1, 6.0),
        ImageScore(2.0, float("inf"), 0.2, 9.0),
    ]
    assert medians(scores) == ImageScore(2.0, 9.0, 0.2, 6.0)


def test_images_of_a_batch_count_once(plan: Plan) -> None:
    scores = [ImageScore(mse, 0.0, 0.0, 0.0) for mse in (1.0, 3.0, 5.0, 5.0, 0.0, 2.0)]
    assert _means(scores, outcome(plan)) == [2.0, 5.0, 1.0]
