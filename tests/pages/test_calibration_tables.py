"""Tables of the study count its leads, and its sentences have its numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.folder.calibration_study import SORTED
from dpdl.pages.calibration_leads import leads, predicted, ratio
from dpdl.pages.calibration_tables import (
    agreement,
    by_departure,
    by_epsilon,
    by_region,
    by_step,
    by_task,
    counted,
    covered,
    hidden,
    looked_at,
    overall,
    prices,
    sure_ahead,
    tables,
)
from tests.pages.study_lines import cosine, setting, study

LOW, HIGH, SILENT = setting(2.0), setting(32.0, graph="complete"), setting(None)
STUDY = study(
    {
        LOW: {"dpdl-sound": [0.5, 0.6, 0.7], "blind": [0.5, 0.59, 0.71]},
        HIGH: {"dpdl-sound": [0.8, 0.8, 0.8], "blind": [0.78, 0.79, 0.77]},
        SILENT: {"dpdl-sound": [0.8, 0.8, 0.8], "blind": [0.81, 0.82, 0.83]},
    }
)


def test_tables_count_and_give_median_and_range() -> None:
    assert counted(leads(STUDY, "blind")) == [
        "3",
        "1",
        "1",
        "1",
        "+0.0",
        "-2.0 to +2.0",
    ]
    assert counted([]) == ["0", *["-"] * 5]
    cells = [row.split(" | ") for row in by_epsilon(STUDY, "blind").splitlines()[2:]]
    assert [row[0] for row in cells] == ["| 2", "| 32", "| no noise"]
    assert [row[2:5] for row in cells] == [list("010"), list("100"), list("001")]
    assert "| complete, 0.05, noise | 1 | 1 |" in by_region(STUDY, "blind")
    assert "| mnist-linear, noise | 2 |" in by_task(STUDY, "blind")
    assert "| `blind` | average model | 3 | 1 | 1 | 1 |" in overall(STUDY)
    (_, _, only) = sure_ahead(STUDY, "blind").splitlines()
    assert "| complete of 10 | 0.05 | 32 | +2.0 | +2.0, +1.0, +3.0 | +0.200 |" in only
    assert "| 2 | 3 | 0.200 | 0.200 to 0.200 | 0.450 to 0.450 |" in looked_at(STUDY)


def test_signal_to_noise_and_prediction_are_those_of_the_theory() -> None:
    at_one = cosine(sigma=0.5)  # tau 0.05; 0.25 / (0.0025 * 100)
    assert ratio(at_one) == pytest.approx(1)
    assert predicted(at_one) == pytest.approx(0.2)
    lines = [cosine(sigma) for sigma in (0.05, 0.4, 1.0, 5.0, 50.0)]
    rows = [row.split(" | ") for row in agreement(lines).splitlines()[2:]]
    assert [row[1] for row in rows] == ["1"] * 5
    assert rows[3][2:4] == [
        "0.400",
        f"{0.4 * ratio(lines[1]) / (1 + ratio(lines[1])):.3f}",
    ]
    assert "| mnist-linear | 100 | 10 | 0.50 | 0.50 | - |" in hidden(lines, STUDY)
    same = study({setting(2.0, batch=10): {"dpdl-sound": [0.5] * 3}})
    assert hidden(lines, same).endswith("| 1.50 at 2 |")


def test_the_price_grows_with_the_ring() -> None:
    prices_of = [float(row.split(" | ")[3][:4]) for row in prices(1.5).splitlines()[2:]]
    assert prices_of[:3] == sorted(prices_of[:3])
    assert all(price > 1 for price in prices_of)
    assert all("| 1.00 |" in row for row in prices(0.0).splitlines()[2:])


def test_what_was_measured_is_told_by_task() -> None:
    (_, _, only) = covered(STUDY).splitlines()
    graphs = "complete of 10, ring of 10"
    assert only == f"| mnist-linear | 3 | {graphs} | 0.05 | 2, 32, no noise |"
    more = {**STUDY, setting(2.0, task="mnist-mlp", alpha_d=SORTED): STUDY[LOW]}
    assert (
        covered(more).splitlines()[3] == "| mnist-mlp | 1 | ring of 10 | sorted | 2 |"
    )


def test_groups_are_by_what_was_seen_and_by_the_step() -> None:
    seen = by_departure(STUDY, "blind").splitlines()[2:]
    assert [row.split(" | ")[0] for row in seen] == [
        "| above 0.03, noise",
        "| above 0.03, no noise",
    ]
    other = replace(STUDY[HIGH]["dpdl-sound"], step=2)
    other = replace(other, held_out={"1": 0.4, "2": 0.5})
    lines = {
        name: replace(one, held_out=other.held_out) for name, one in STUDY[HIGH].items()
    }
    moved = {**STUDY, HIGH: {**lines, "dpdl-sound": other}}
    rows = by_step(moved, "blind").splitlines()[2:]
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| the same step, noise", "1"],
        ["| another step, noise", "1"],
        ["| the same step, no noise", "1"],
    ]


def test_all_tables_of_what_is_kept_can_be_made() -> None:
    results = Path(__file__).parents[2] / "results" / "study"
    assert all(part.strip() for part in tables(results))
