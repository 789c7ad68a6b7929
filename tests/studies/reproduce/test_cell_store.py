"""Seeds of a cell are collected in one file; other settings are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.cell_results import CellResult
from dpdl.studies.reproduce import cell_store, recipes
from tests.studies.reproduce.small import CELL, CURVE, RUN, entered


def file_of(out: Path) -> Path:
    return cell_store.path_of(out, CELL, "as-published")


def test_a_file_is_named_after_mode_and_cell(tmp_path: Path) -> None:
    assert cell_store.path_of(tmp_path, CELL, "sound") == (
        tmp_path / "sound" / "mnist-ring-10-alpha0.25-epsilon0.5-dpdl.json"
    )


def test_seeds_are_collected_with_mean_and_spread(tmp_path: Path) -> None:
    assert cell_store.read(tmp_path, CELL, "as-published") is None
    assert entered(tmp_path, CELL, 90.0, seed=1).spread is None
    found = entered(tmp_path, CELL, 92.0, seed=0)
    assert (found.ours, found.spread) == (91.0, 1.41)
    assert list(found.runs) == ["0", "1"] and found.runs["1"] == RUN
    assert cell_store.read(tmp_path, CELL, "as-published") == found
    assert entered(tmp_path, CELL, 93.0, seed=2).ours == 91.67


def test_the_same_seed_again_replaces_the_first(tmp_path: Path) -> None:
    entered(tmp_path, CELL, 90.0)
    found = entered(tmp_path, CELL, 95.0)
    assert list(found.runs) == ["0"] and (found.ours, found.spread) == (95.0, None)


def test_a_result_has_the_papers_number_beside_ours(tmp_path: Path) -> None:
    found = entered(tmp_path, CELL, 90.0)
    assert (found.paper, found.paper_spread, found.paper_algorithm) == (
        91.8,
        0.6,
        "dpdl",
    )
    assert found.cell == CELL and found.guarantee == recipes.MODES["as-published"]
    decor = entered(tmp_path, CELL._replace(algorithm="decor"), mode="sound")
    assert (decor.paper, decor.paper_algorithm) == (91.8, "dpdl")
    assert (decor.algorithm, decor.settings["algorithm"]) == ("decor", "decor")


def test_settings_are_those_of_the_experiment_without_its_seed(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 3)
    settings = entered(tmp_path, CELL, seed=3).settings
    assert "seed" not in settings and settings["rounds"] == e.rounds
    assert {**settings, "seed": 3} == e.as_dict()


def test_a_note_stays_when_another_seed_is_added(tmp_path: Path) -> None:
    entered(tmp_path, CELL, 90.0)
    content = json.loads(file_of(tmp_path).read_text())
    file_of(tmp_path).write_text(json.dumps({**content, "note": "on a warm day"}))
    assert entered(tmp_path, CELL, 92.0, seed=1).note == "on a warm day"
    assert json.loads(file_of(tmp_path).read_text())["note"] == "on a warm day"


# ------------------------------------------------------------------ other settings
def test_seeds_with_other_settings_are_not_mixed(tmp_path: Path) -> None:
    entered(tmp_path, CELL)
    shorter = replace(recipes.experiment(CELL, "as-published", 1), rounds=900)
    with pytest.raises(InputError, match="rounds = 1000, the recipe now has 900"):
        cell_store.add(tmp_path, CELL, "as-published", shorter, RUN)
    assert list(entered(tmp_path, CELL).runs) == ["0"]


def test_a_setting_that_did_not_exist_is_no_other_one(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    found = entered(tmp_path, CELL)
    before = {name: one for name, one in found.settings.items() if name != "average"}
    assert cell_store.other_setting(replace(found, settings=before), e) is None
    other = {**before, "average": 0.5}
    assert cell_store.other_setting(replace(found, settings=other), e) == "average"
    assert cell_store.other_setting(None, e) is None


# ------------------------------------------------------------------ curves
def with_curve(out: Path, **changed: object) -> CellResult | None:
    run = replace(RUN, curve=CURVE, **changed)
    cell_store.add_curve(out, CELL, "as-published", "0", run)
    return cell_store.read(out, CELL, "as-published")


def test_a_curve_is_added_to_the_run_that_it_is_of(tmp_path: Path) -> None:
    before = entered(tmp_path, CELL)
    assert with_curve(tmp_path) == replace(
        before, runs={"0": replace(RUN, curve=CURVE)}
    )


def test_the_curve_of_another_run_is_not_added(tmp_path: Path) -> None:
    before = entered(tmp_path, CELL)
    assert with_curve(tmp_path, seconds=99.0) == before
    assert with_curve(tmp_path / "empty") is None
