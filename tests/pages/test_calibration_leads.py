"""A lead is a mean over seeds, and sure only if all of them agree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl.pages.calibration_leads import (
    Lead,
    alike,
    departure,
    leads,
    points,
    same_step,
    spread,
)
from tests.pages.study_lines import setting, study

LOW, HIGH, SILENT = setting(2.0), setting(32.0, graph="complete"), setting(None)
STUDY = study(
    {
        LOW: {"dpdl-sound": [0.5, 0.6, 0.7], "blind": [0.5, 0.59, 0.71]},
        HIGH: {"dpdl-sound": [0.8, 0.8, 0.8], "blind": [0.78, 0.79, 0.77]},
        SILENT: {"dpdl-sound": [0.8, 0.8, 0.8], "blind": [0.81, 0.82, 0.83]},
    }
)


@pytest.mark.parametrize(
    ("points", "sure"),
    [
        ((1.0, 2.0, 0.2), 1),
        ((-1.0, -2.0, -0.2), -1),
        ((1.0, 2.0, -0.2), 0),
        ((0.4, 0.5, 0.4), 0),  # less than half a point
        ((1.0, 2.0), 0),  # two seeds
    ],
)
def test_a_lead_is_sure_in_three_seeds_of_one_sign(points, sure) -> None:
    assert Lead(LOW, points).sure == sure


def test_leads_are_in_points_by_seed() -> None:
    found = leads(STUDY, "blind")
    assert [one.setting for one in found] == [LOW, HIGH, SILENT]
    assert found[1].points == pytest.approx((2, 1, 3))
    assert found[1].mean == pytest.approx(2)
    assert [one.sure for one in found] == [0, 1, -1]
    assert leads(STUDY, "dp-cga") == []


def test_where_nothing_was_learned_nothing_is_compared() -> None:
    guessing = study({LOW: {"dpdl-sound": [0.2] * 3, "blind": [0.1] * 3}})
    assert leads(guessing, "blind") == []


def test_who_has_not_tried_the_step_of_the_other_is_not_compared() -> None:
    s = setting()
    lines = study({s: {"dpdl-sound": [0.5] * 3, "blind": [0.4] * 3}})
    far = replace(lines[s]["blind"], step=7, held_out={"1": 0.3, "7": 0.5})
    assert alike(lines[s]["dpdl-sound"], lines[s]["blind"])
    assert not alike(lines[s]["dpdl-sound"], far)
    assert leads({s: {**lines[s], "blind": far}}, "blind") == []


def test_points_have_a_sign_and_no_minus_zero() -> None:
    assert [points(value) for value in (-0.04, 0.04, -0.06, 2)] == [
        "+0.0",
        "+0.0",
        "-0.1",
        "+2.0",
    ]
    assert spread(leads(STUDY, "blind")) == "-2.0 to +2.0"


def test_departure_is_the_mean_size_over_seeds() -> None:
    lines = STUDY[LOW]
    assert departure(lines) == pytest.approx(0.05)
    first, *others = lines["dpdl-sound"].seeds
    seeds = replace(first, coefficient=0.56), replace(first, coefficient=None), *others
    apart = {**lines, "dpdl-sound": replace(lines["dpdl-sound"], seeds=seeds)}
    assert departure(apart) == pytest.approx((0.06 + 0 + 0.05 + 0.05) / 4)
    assert same_step(lines, "blind")
    assert not same_step({**lines, "blind": replace(lines["blind"], step=7)}, "blind")
