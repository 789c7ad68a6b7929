"""Schedules for a budget: what the accountant says about rounds and batches."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpdl.errors import InputError
from dpdl.planning.plan import plan
from dpdl.privacy.accounting import Step, calibrate
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.schedule import Schedule, budget_plan, draw, schedules
from dpdl.tasks import data as datasets
from tests.studies.scored import RECORDS, E, planned


def test_the_numbers_are_the_accountants() -> None:
    found = {(one.rounds, one.batch): one for one in schedules(E, factors=(1.0, 4.0))}
    assert set(found) == {(8, 32), (32, 32), (8, 128)}
    for (rounds, batch), one in found.items():
        assert one.sigma == calibrate(60.0, 1e-5, Step(1.0, batch, RECORDS), rounds)
        assert one.total_noise == one.sigma / (batch * math.sqrt(rounds))
        assert one.work == rounds * batch / (8 * 32)


@pytest.mark.parametrize("algorithm", ["dpdl", "dpdl-sound"])
def test_sigma_is_the_one_that_a_run_will_have(algorithm: str) -> None:
    e = replace(
        E,
        algorithm=algorithm,
        agents=5,
        alpha=20.0,
        rounds=2,
        partition="dirichlet-class",
        threat="neighbours:1",
    )
    for one in schedules(e, factors=(1.0, 4.0)):
        run = plan(replace(e, rounds=one.rounds, batch=one.batch))
        assert one.sigma == run.grad.noise_multiplier
        # The model is so small that the proof of `dpdl` asks for more noise than the budget.
        if algorithm == "dpdl":
            assert one.sigma > 20 * 5 * 3**-1.5 * one.batch / (4 * math.sqrt(5000))


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_noise_falls_with_rounds_and_batch_to_that_of_one_release_of_all_records(
    epsilon: float,
) -> None:
    def noise(rounds: int, batch: int) -> float:
        return calibrate(epsilon, 1e-5, Step(1.0, batch, 300), rounds) / (
            batch * math.sqrt(rounds)
        )

    limit = noise(1, 300)
    assert noise(30, 300) == pytest.approx(limit, rel=5e-4)
    few, many, large = noise(5, 60), noise(50, 60), noise(5, 150)
    assert few > many > limit
    assert few > large > limit


def test_candidates_are_the_smallest_batches_near_the_least_noise_within_the_work() -> (
    None
):
    for work in (0.5, 1.0, 4.0, 16.0):
        found = planned(E, work)
        every = {
            (rounds, batch)
            for rounds in (2, 4, 8, 16, 32)
            for batch in (8, 16, 32, 64, 128)
        }
        assert {(one.rounds, one.batch) for one in found} == {
            p for p in every if p[0] * p[1] <= work * 8 * 32
        }
        assert [one.work for one in found] == sorted(one.work for one in found)
        near = [
            one
            for one in found
            if one.total_noise <= 1.25 * min(other.total_noise for other in found)
        ]
        chosen = {(one.rounds, one.batch) for one in found if one.candidate}
        assert chosen == {
            (T, min(one.batch for one in near if one.rounds == T))
            for T in {one.rounds for one in near}
        }
    assert 3 < len(chosen) < len(near)
    assert planned(E) == planned(E, 4.0)


def test_fewer_rounds_and_records_than_one_are_not_tried() -> None:
    tiny = planned(replace(E, rounds=1, batch=2), 16.0)
    assert {one.rounds for one in tiny} == {1, 2, 4}
    assert {one.batch for one in tiny} == {1, 2, 4, 8}


def test_the_smallest_agent_limits_the_batch_and_nobody_loses_records() -> None:
    def batches(**options: Any) -> set[int]:
        return {one.batch for one in planned(replace(E, **options), 16.0)}

    assert RECORDS == 479
    assert batches(batch=215) == {54, 108, 215, 430}
    assert batches(batch=216) == {54, 108, 216}  # 432 are more than nine tenths
    assert batches(batch=479) == {120, 240, 479}  # nobody asked for less
    assert batches(partition="quantity") == {32}  # another batch is another partition
    # Drawn again until all agents have a batch: with seed 3 the first draw will do, with seed 0 only for less.
    again = {"partition": "dirichlet-class", "agents": 10, "alpha_d": 0.1, "batch": 40}
    assert batches(**again, seed=3) == {10, 20, 40}
    assert batches(**again, seed=0) == {40}


def test_a_named_data_set_is_not_read(tmp_path: Path, monkeypatch) -> None:
    """There is none here, and none can be fetched."""
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("DPDL_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="could not be fetched"):
        datasets.load("mnist")
    e = replace(E, dataset="mnist", agents=10, batch=216, partition="dirichlet-agent")
    for one in planned(e):
        rate = one.batch / 6000
        assert one.sigma == math.sqrt(0.3 + 100 * rate**2 * one.rounds)


def test_a_schedule_is_plain_in_json() -> None:
    one = Schedule(
        rounds=2, batch=3, sigma=1.5, total_noise=0.25, work=1.0, candidate=True
    )
    found = one.to_json()
    names = ["rounds", "batch", "sigma", "noise", "work", "candidate"]
    assert list(found) == names
    assert found["noise"] == 0.25
    assert Schedule.from_json(json.loads(json.dumps(found))) == one


def test_a_plan_for_a_budget_names_the_budget() -> None:
    plan = planned(E, 0.125)
    found = budget_plan(E, plan)
    assert found.plan == tuple(plan)
    assert (found.epsilon, found.delta, found.threat) == (
        Epsilon(60.0),
        1e-5,
        "eavesdropper",
    )
    assert list(found.to_json()) == ["plan", "epsilon", "delta", "threat"]


def test_the_draw_of_a_trial_is_a_candidate_and_keeps_to_its_key() -> None:
    plan = planned(E)
    drawn = [draw(plan, 0, k) for k in range(20)]
    assert all(one.candidate for one in drawn)
    assert len({one.rounds for one in drawn}) > 1
    assert [draw(plan, 0, k) for k in range(20)] == drawn
    assert [draw(plan, 1, k) for k in range(20)] != drawn


@pytest.mark.parametrize(
    ("options", "work", "hint"),
    [
        ({"epsilon": None}, 4.0, "give an epsilon"),
        ({"sigma": 2.5}, 4.0, "not sigma 2.5"),
        ({"noise": "none"}, 4.0, "not noise 'none'"),
        ({}, 0.0, "work must be a finite number above 0"),
        ({}, math.inf, "work must be a finite number above 0"),
        ({}, 0.06, "work must be at least 0.0625"),
    ],
    ids=str,
)
def test_what_has_no_budget_is_refused(options, work: float, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        planned(replace(E, **options), work)
