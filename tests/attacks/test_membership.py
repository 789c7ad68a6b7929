"""Membership is told where it can be told, and rates are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from torch import Tensor

import dpdl
from dpdl.attacks import harness, membership
from dpdl.attacks.membership import Records, candidates_of, damped, roc, summary
from dpdl.attacks.targets import AttackCase
from dpdl.errors import InputError
from dpdl.training.recording import RecordingRequest
from tests.attacks.alone import run_alone

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 10,
    "rounds": 4,
    "batch": 16,
    "seed": 3,
    "lr": 0.05,
}


def recorded(
    path: Path, request: RecordingRequest, **options
) -> tuple[Path, dpdl.Result]:
    return path, dpdl.train(
        dpdl.Experiment(**{**OPTIONS, **options}), out=path, record=request
    )


@pytest.fixture(scope="module")
def clear(tmp_path_factory) -> tuple[Path, dpdl.Result]:
    """Clipped, without noise."""
    return recorded(
        tmp_path_factory.mktemp("runs") / "clear",
        RecordingRequest((3,), (1, 2, 24)),
        noise="none",
    )


@pytest.fixture(scope="module")
def noisy(tmp_path_factory) -> Path:
    return recorded(
        tmp_path_factory.mktemp("runs") / "noisy",
        RecordingRequest((3,), (1, 2)),
        sigma=50.0,
    )[0]


@pytest.mark.parametrize(("scenario", "batch"), [("cg", 1), ("cg", 2), ("self", 2)])
def test_members_of_small_batches_are_known_without_noise(
    clear, scenario: str, batch: int
) -> None:
    found = membership.membership(clear[0], scenario, 3, batch)
    assert found["members"] == found["non_members"] == 10 * batch
    assert found["scores"]["gradient"]["auc"] > 0.98
    assert found["scores"]["loss"]["auc"] > 0.6  # chance is 0.5


def test_what_gradients_have_in_common_is_no_sign_of_membership(clear) -> None:
    """Damping is what makes the attack strong on batches of the usual size."""
    found = membership.membership(clear[0], "cg", 3)["scores"]["gradient"]
    assert found["auc_interval"][0] > 0.85
    plain = membership.membership(
        clear[0], "cg", 3, damping=lambda public, direction: lambda rows: rows
    )
    assert plain["scores"]["gradient"]["auc"] < 0.7


@pytest.mark.parametrize("scenario", ["cg", "mm"])
@pytest.mark.parametrize("batch", [1, None])
def test_strong_noise_hides_membership(
    noisy: Path, scenario: str, batch: int | None
) -> None:
    low, high = membership.membership(noisy, scenario, 3, batch)["scores"]["gradient"][
        "auc_interval"
    ]
    assert low < 0.5 < high


def test_low_rates_come_from_enough_records_or_not_at_all(clear) -> None:
    few = membership.membership(clear[0], "cg", 3, 2)["scores"]["gradient"]
    assert few["tpr_at_1_percent"] is None and "20 non-members" in few["note"]
    many = membership.membership(clear[0], "cg", 3, 24)["scores"]["gradient"]
    low, high = many["tpr_interval"]
    assert low <= many["tpr_at_1_percent"] <= high and high - low < 0.15
    assert many["fpr_measured"] < 0.05
    json.dumps(many, allow_nan=False)


def test_candidates_are_the_batch_and_other_records_of_the_same_agent(clear) -> None:
    plan = clear[1].plan
    for case in (AttackCase("cg", 3, None), AttackCase("cg", 3, 2)):
        candidates, count = candidates_of(plan, case, 4, seed=0)
        truth, _ = harness.truth_of(plan, case, 4)
        own = rows(
            plan.data.inputs(
                plan.data.x[torch.from_numpy(plan.parts[4])], torch.float32
            )
        )
        inside, outside = rows(candidates.x[:count]), rows(candidates.x[count:])
        assert inside == rows(truth) and len(candidates.y) == 2 * count
        assert outside <= own and not outside & inside


def rows(x: Tensor) -> set[tuple[float, ...]]:
    return {tuple(one) for one in x.flatten(1).tolist()}


def test_the_seed_decides_everything(clear) -> None:
    first, again, other = (
        membership.membership(clear[0], "cg", 3, 2, [0, 1, 2], seed)
        for seed in (0, 0, 1)
    )
    assert first == again and first["scores"] != other["scores"]


def test_without_a_next_model_there_is_no_loss_score(clear) -> None:
    found = membership.membership(clear[0], "cg", 4, None, [0])
    assert found["scores"]["loss"] is None and found["scores"]["gradient"]["auc"] > 0.5


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    draw = np.random.default_rng(0)
    members, others = draw.integers(0, 9, 40) + 1.0, draw.integers(0, 9, 31) + 0.0
    pairs = [(a > b) + 0.5 * (a == b) for a in members for b in others]
    assert membership.auc(members, others) == pytest.approx(np.mean(pairs))
    assert membership.auc(-members, -others) == pytest.approx(1 - np.mean(pairs))


def test_the_curve_of_a_small_example() -> None:
    fpr, tpr = roc(np.array([3.0, 2.0]), np.array([2.0, 1.0]))
    assert fpr.tolist() == [0, 0, 0.5, 1] and tpr.tolist() == [0, 0.5, 1, 1]


def test_a_threshold_is_chosen_and_measured_on_different_records() -> None:
    """99 non-members choose: one of them may be above 1 %, so the largest is the threshold. The others measure."""
    others = np.empty(198)
    others[::2], others[1::2] = np.arange(99), np.arange(99) + 2.5
    members = np.array([98.0, 98.5, 99.0, 10.0])
    assert membership.at_rate(members, others, 0.01) == (98.0, 0.5, 3 / 99)
    assert membership.at_rate(members, others, 0.02) == (97.0, 0.75, 4 / 99)
    with pytest.raises(InputError, match="cannot be resolved with 196"):
        membership.at_rate(members, others[:196], 0.01)


def test_false_positives_are_as_rare_as_promised() -> None:
    """Averaged over many draws, the rate on fresh records is 1 / 101 for 100 that choose."""
    draw = np.random.default_rng(1)
    found = [
        membership.at_rate(np.zeros(1), draw.normal(size=200), 0.01)[2]
        for _ in range(2000)
    ]
    assert np.mean(found) == pytest.approx(1 / 101, abs=4 * np.std(found) / 2000**0.5)


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (3, 20), (7, 7)])
def test_intervals_of_rates_are_those_of_clopper_and_pearson(
    hits: int, trials: int
) -> None:
    expected = binomtest(hits, trials).proportion_ci(0.95, "exact")
    assert membership.rate_interval(hits, trials) == pytest.approx(
        (expected.low, expected.high)
    )


def test_intervals_of_areas_cover() -> None:
    draw, covered = np.random.default_rng(2), 0
    truth = 0.7602  # Phi(1 / sqrt 2)
    for _ in range(400):
        area = membership.auc(draw.normal(1.0, 1.0, 15), draw.normal(size=15))
        low, high = membership.auc_interval(area, 15, 15)
        assert 0 <= low <= area <= high <= 1
        covered += low < truth < high
    assert 0.92 <= covered / 400 <= 0.99
    low, high = membership.auc_interval(1.0, 15, 15)
    assert 0.8 < low < 0.95 and high == 1
    assert membership.auc_interval(0.0, 15, 15) == pytest.approx(
        (0.0, 1 - low), abs=1e-6
    )


def test_curves_are_thinned_and_keep_their_ends() -> None:
    draw = np.random.default_rng(3)
    found = summary(draw.normal(1, 1, 2000), draw.normal(size=2000))
    assert 100 < len(found["fpr"]) == len(found["tpr"]) <= 200
    assert (found["fpr"][0], found["tpr"][0], found["fpr"][-1], found["tpr"][-1]) == (
        0,
        0,
        1,
        1,
    )
    assert sum(0 < rate <= 0.01 for rate in found["fpr"]) >= 5


def test_damping_shrinks_the_common_part_and_leaves_noise_alone() -> None:
    torch.manual_seed(0)
    common = torch.nn.functional.normalize(torch.randn(400), dim=0)
    public = torch.nn.functional.normalize(common + 0.02 * torch.randn(30, 400))
    damp = damped(public, common)
    assert damp(common[None]).norm() < 0.5
    aside = torch.randn(400)
    aside -= public.T @ torch.linalg.lstsq(public.T, aside).solution
    torch.testing.assert_close(damp(aside[None])[0], aside, rtol=1e-3, atol=1e-4)
    noise = (
        aside / aside.norm() + 0.2 * common
    )  # no more inside the span than noise has there
    torch.testing.assert_close(damped(public, noise)(common[None])[0], common)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("cgg", 3), "cg"),
        (("cg", 1), "Round 1 was not recorded"),
        (("cg", 3, 7), "recorded are 1, 2, 24"),
        (("cg", 3, 1, [10]), "agents 0 to 9"),
        (("cg", 3, 1, []), "No attacked agent"),
    ],
)
def test_what_cannot_be_attacked_is_refused(clear, words, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        membership.membership(clear[0], *words)


def test_secure_randomness_leaves_nothing_to_measure(tmp_path: Path) -> None:
    path, _ = recorded(
        tmp_path / "run",
        RecordingRequest((2,)),
        agents=3,
        randomness="secure",
        sigma=1.0,
    )
    with pytest.raises(InputError, match="secure randomness"):
        membership.membership(path, "cg", 2)


def test_the_adversary_needs_the_recording_and_records_alone(
    clear, tmp_path: Path
) -> None:
    code = """
from dpdl.attacks.membership import Records, scores
from dpdl.attacks.targets import AttackCase
from dpdl.attacks.recorded import Recording
records = Records(torch.randn(5, 1, 8, 8), torch.arange(5))
found = scores(Recording(RECORDING), AttackCase("cg", 3, 1), 0, records, records)
assert {kind: len(of) for kind, of in found.items()} == {"gradient": 5, "loss": 5}
"""
    run_alone(code, clear[0], tmp_path)


def test_a_gradient_that_is_not_finite_is_no_sign() -> None:
    task = dpdl.Task(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)))
    x = torch.randn(4, 16)
    x[1] = float("inf")
    records, seen = (
        Records(x, torch.tensor([0, 1, 2, 0])),
        membership.Target(task.initial, torch.ones(51), 0),
    )
    found = membership.by_gradient(task, seen, records, records)
    assert found[1] == 0 and np.isfinite(found).all() and found[0] != 0
