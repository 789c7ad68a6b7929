"""Files of reproduced cells are read and written without loss, those of older versions too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.cell_results import (
    CellResult,
    Curve,
    SeedResult,
    in_order,
    is_result,
    mean_and_spread,
    read_result,
    write_result,
)
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon

RESULTS = Path(__file__).parents[2] / "results"
MODES = {"as-published": 58, "algorithm1": 17, "sound": 171}
RUN = SeedResult(90.0, 89.0, 80.0, 3.0, {}, 12.3, {"dpdl": "x"}, "abc")
CURVE = Curve((1, 50), (2.3, None), (2.2, None), (2.4, None), (10.0, 90.0))


def result(**changed: object) -> CellResult:
    values = {
        "mode": "sound",
        "ours": 90.0,
        "spread": None,
        "paper": 91.8,
        "paper_spread": 0.6,
        "paper_algorithm": "dpdl",
        "guarantee": "none",
        "accuracy": "of the average model",
        "runs": {"0": RUN},
        "settings": {"rounds": 300, "sigma": None},
    }
    cell = ("mnist", "ring", 10, 0.25, 0.5, "dpdl")
    return CellResult(*cell, **{**values, **changed})


# ------------------------------------------------------------------ what was committed
@pytest.mark.parametrize("mode", MODES)
def test_all_committed_results_come_back_as_they_were(mode: str) -> None:
    paths = sorted((RESULTS / mode).glob("*.json"))
    assert len(paths) >= MODES[mode]
    for path in paths:
        content = json.loads(path.read_text("utf-8"))
        found = read_result(path)
        assert found is not None and found.to_json() == content, path.name
        assert found.cell.name == path.stem and found.mode == mode
        assert (found.ours, found.spread) == mean_and_spread(found.runs), path.name


def test_a_committed_file_is_written_as_it_was(tmp_path: Path) -> None:
    """Byte by byte: a new seed changes no line but its own."""
    path = RESULTS / "sound" / "mnist-ring-10-alpha1-epsilon1-dpdl.json"
    found = read_result(path)
    assert found
    write_result(tmp_path / "again.json", found)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


# ------------------------------------------------------------------ one result
def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    epsilons = {"neighbour": Epsilon(0.5), "eavesdropper": UNBOUNDED, "x": UNKNOWN}
    run = SeedResult(90.0, None, None, None, epsilons, 1.0, {}, None, CURVE)
    before = result(runs={"0": run, "1": RUN}, note="on a warm day", spread=0.1)
    path = tmp_path / "sound" / "cell.json"
    write_result(path, before)
    assert read_result(path) == before
    content = json.loads(path.read_text())
    assert content["format"] == 1 and "curve" not in content["runs"]["1"]
    assert content["runs"]["0"]["epsilon"]["eavesdropper"] == "unbounded"


def test_a_result_without_a_note_has_no_key_for_it() -> None:
    assert "note" not in result().to_json()
    assert result(note="x").to_json()["note"] == "x"


def test_lists_of_numbers_are_one_line(tmp_path: Path) -> None:
    """And texts with brackets are written as they are."""
    run = SeedResult(90.0, 1.0, 1.0, 1.0, {}, 1.0, {"x": "[ a,\n  b ]"}, None, CURVE)
    before = result(runs={"0": run}, note="[ 1,\n 2 ]")
    write_result(tmp_path / "x.json", before)
    text = (tmp_path / "x.json").read_text()
    assert '"rounds": [1, 50],' in text and '"loss": [2.3, null],' in text
    assert read_result(tmp_path / "x.json") == before


def test_a_curve_adds_little_to_a_file(tmp_path: Path) -> None:
    rounds = tuple(range(1, 41))
    losses = (1.2346,) * 40
    curve = Curve(rounds, losses, losses, losses, (98.77,) * 40)
    sizes = []
    for one in (None, curve):
        run = SeedResult(90.0, 1.0, 1.0, 1.0, {}, 1.0, {}, None, one)
        write_result(tmp_path / "x.json", result(runs={"0": run}))
        sizes.append((tmp_path / "x.json").stat().st_size)
    assert sizes[1] - sizes[0] < 2500


def test_runs_are_in_the_order_of_their_seeds() -> None:
    assert list(in_order({"10": RUN, "9": RUN, "0": RUN})) == ["0", "9", "10"]


def test_what_is_proven_is_against_an_eavesdropper() -> None:
    def proven(epsilon: dict | None) -> Epsilon:
        return SeedResult(90.0, 1.0, 1.0, 1.0, epsilon, 1.0, {}, None).proven

    assert proven({"neighbour": Epsilon(9.0), "eavesdropper": Epsilon(2.0)}) == Epsilon(
        2.0
    )
    assert proven({"neighbour": Epsilon(9.0)}) == proven(None) == UNKNOWN


# ------------------------------------------------------------------ other files
def test_a_file_that_is_not_there_holds_no_result(tmp_path: Path) -> None:
    assert read_result(tmp_path / "x.json") is None


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("{", "cannot be read"),
        ("[]", "another version"),
        ("{}", "another version"),
        ('{"format": 2}', "another version"),
        ('{"format": 1}', "has no 'dataset'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, hint: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError, match=hint) as refused:
        read_result(path)
    assert str(path) in str(refused.value)


def test_a_wrong_value_is_named_with_its_place(tmp_path: Path) -> None:
    content = result().to_json()
    content["runs"]["0"]["seconds"] = "long"
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"runs\.0\.seconds must be a number"):
        read_result(tmp_path / "x.json")


@pytest.mark.parametrize("content", [None, [], {}, {"format": "1"}, {"format": 2}])
def test_only_this_format_is_a_result(content: object) -> None:
    assert not is_result(content)
    assert is_result({"format": 1})


@pytest.mark.parametrize("seed", ["", "x", "-1", "1.5", "\u0663", "9" * 400])
def test_runs_are_by_seed(seed: str) -> None:
    with pytest.raises(InputError, match="runs must be by seed"):
        result(runs={seed: RUN})


def test_a_result_has_a_run() -> None:
    with pytest.raises(InputError, match="at least one seed"):
        result(runs={})
