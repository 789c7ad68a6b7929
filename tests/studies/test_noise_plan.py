"""Noise for a target, and what a noise proves, before any data are touched."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN
from dpdl.studies.noise_plan import NoisePlan, noise_plan

THREE = {"graph": "ring", "agents": 3, "batch": 8, "rounds": 4}


def planned(algorithm: str = "dpdl-sound", records: str = "600", **more) -> NoisePlan:
    return noise_plan({**THREE, "algorithm": algorithm, **more}, records, 4810)


def test_the_needed_noise_proves_the_target() -> None:
    plan = planned()
    table = plan.sigmas(4.0)
    needed = table.sigma["eavesdropper"]
    assert plan.needed_sigma(4.0) == needed
    again = plan.epsilons(needed)
    assert again.epsilon["eavesdropper"].value == pytest.approx(4.0, rel=1e-3)
    assert plan.epsilons(2 * needed).epsilon["eavesdropper"].value < 4.0


def test_the_threat_that_is_chosen_comes_last_and_may_be_one_more() -> None:
    names = ["theorem1", "theorem1_appendix", "neighbour", "final_model"]
    assert list(planned().sigmas(4.0).sigma) == [*names, "eavesdropper"]
    more = planned(threat="neighbours:2").epsilons(1.0)
    assert list(more.epsilon)[-1] == "neighbours:2"
    assert list(more.per_agent) == list(more.epsilon)[2:]


def test_the_epsilon_of_a_plan_is_that_of_the_agent_with_the_fewest_records() -> None:
    table = planned(records="800,600,700").epsilons(1.0)
    for name, values in table.per_agent.items():
        assert len(values) == 3
        assert max(one.value for one in values) == table.epsilon[name].value
        assert values[1].value == table.epsilon[name].value


def test_a_theorem_about_other_algorithms_claims_nothing() -> None:
    plan = planned("dp-dpsgd")
    assert plan.sigmas(4.0).sigma["theorem1"] is None
    assert plan.epsilons(1.0).epsilon["theorem1"] == UNKNOWN
    assert "Theorem 1 is not about this algorithm." in plan.epsilons(1.0).notes


def test_where_nothing_bounds_a_record_no_noise_is_enough() -> None:
    plan = planned(clip_unit="chunks")
    assert plan.sigmas(4.0).sigma["eavesdropper"] == "unbounded"
    assert plan.sigmas(4.0).sigma_eff["eavesdropper"] == "unbounded"
    assert plan.needed_sigma(4.0) == math.inf
    table = plan.epsilons(1.0)
    assert table.epsilon["eavesdropper"] == UNBOUNDED
    assert table.to_json()["per_agent"]["neighbour"] == ["unbounded"] * 3
    assert any("Only clip_unit 'sample' bounds" in note for note in table.notes)


def test_batches_of_a_fixed_size_are_noted() -> None:
    notes = planned(sampling="fixed", relation="replace-one").epsilons(1.0).notes
    assert "One record is replaced in one agent's data" in notes[0]
    assert any("Rényi DP, which is loose" in note for note in notes)


def test_the_picture_leaves_out_what_is_unbounded(tmp_path: Path) -> None:
    path = planned(clip_unit="chunks").draw(1.0, tmp_path / "e.svg")
    text = path.read_text("utf-8")
    assert "claimed by Theorem 1" in text
    assert "proven, " not in text
    assert "proven, " in planned().draw(1.0, tmp_path / "e.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "records", "parameters", "words"),
    [
        ({}, "600", 0, "parameters must be a whole number of at least 1, not 0"),
        ({"batch": 700}, "600", 10, "batch must be at most the 600 records"),
        ({}, "600,700", 10, "600,700"),
        ({"graph": "rong"}, "600", 10, "ring"),
        ({"nothing": 1}, "600", 10, "nothing"),
    ],
)
def test_wrong_input_is_refused(
    options: dict, records: str, parameters: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        noise_plan({**THREE, **options}, records, parameters)


def test_a_picture_says_why_its_curves_climb_in_steps(tmp_path: Path) -> None:
    """Every round that a record takes part in costs 1 / (2 sigma_eff^2)."""
    little = planned("dp-dpsgd").draw(0.05, tmp_path / "e.svg").read_text("utf-8")
    assert "Steps: every round" in little and "costs about 200." in little
    much = planned("dp-dpsgd").draw(1.0, tmp_path / "e.svg").read_text("utf-8")
    always = planned("dp-dpsgd", "8").draw(0.05, tmp_path / "e.svg").read_text("utf-8")
    assert "Steps" not in much and "Steps" not in always


def test_such_steps_are_those_of_how_often_a_record_takes_part() -> None:
    """Epsilon in the ten thousands follows the quantile of a binomial count."""
    from scipy.stats import binom

    plan = noise_plan(
        {"algorithm": "dp-dpsgd", "batch": 64, "rounds": 1000, "agents": 3}, "6000", 100
    )
    model, effective = plan.model.with_noise(0.02), 0.02
    for rounds in (250, 300, 350):
        taken = binom.isf(model.delta, rounds, 64 / 6000)
        cost = taken / (2 * effective**2)
        found = model.worst(plan.listeners[-1], rounds)
        assert found == pytest.approx(cost, rel=0.1)
