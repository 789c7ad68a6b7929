"""A plan in one line: what runs, and nothing about records or seeds."""

from __future__ import annotations

from dataclasses import replace

from dpdl.planning.brief import how, of_plan, what
from dpdl.tasks.data import Dataset
from tests.training.small import changed, planned


def test_a_plan_says_what_it_is(blobs: Dataset) -> None:
    p = planned(blobs)
    assert repr(p) == of_plan(p)
    assert what(p, 1).endswith("5 agents, 1 round")
    assert of_plan(p) == (
        "Plan(dpdl on blobs, ring of 5 agents, 12 rounds, sigma 0.5; simulation, which protects nobody)"
    )


def test_secure_randomness_is_named(blobs: Dataset) -> None:
    assert how(planned(blobs, changed(randomness="secure"))) == "secure randomness"


def test_a_long_name_is_cut(blobs: Dataset) -> None:
    named = replace(blobs, name="/data/" + "x" * 100 + "end.npz")
    text = of_plan(planned(named))
    assert "...x" in text
    assert "end.npz" in text
    assert "/data" not in text
    assert len(text) < 300
