"""`tools/again.py` finds every number that changed, and tells rounding from the rest."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from dpdl.folder.cell_results import write_result
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.reproduce import cell_store
from tests.studies.reproduce.small import CELL, CURVE, RUN, small

TOOL = Path(__file__).parents[1] / "tools" / "again.py"
FULL = replace(RUN, curve=CURVE)


@pytest.fixture(scope="module")
def again() -> ModuleType:
    spec = importlib.util.spec_from_file_location("again", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------ comparing
def test_equal_runs_have_no_differences(again) -> None:
    assert list(again.differences(FULL, replace(FULL, seconds=99.0, commit="x"))) == []
    assert again.verdict([]) == "same"


@pytest.mark.parametrize(
    ("changed", "text", "verdict"),
    [
        ({"accuracy": 90.01}, "accuracy 90.0 -> 90.01", "rounding"),
        ({"accuracy": 90.02}, "accuracy 90.0 -> 90.02", "differs"),
        ({"agents_worst": 80.5}, "agents_worst 80.0 -> 80.5", "differs"),
        ({"sigma": 3.0000001}, "sigma 3.0 -> 3.0000001", "differs"),
        (
            {"epsilon": {"claimed_theorem1": UNKNOWN, "eavesdropper": UNBOUNDED}},
            "epsilon.eavesdropper 2.0 -> unbounded",
            "differs",
        ),
        ({"epsilon": None}, "epsilon.eavesdropper 2.0 -> None", "differs"),
        ({"curve": None}, "curve.rounds [1, 50] -> []", "differs"),
        (
            {"curve": replace(CURVE, highest=(2.2346, 1.5001))},
            "curve.highest in round 50: 1.5 -> 1.5001",
            "rounding",
        ),
        (
            {"curve": replace(CURVE, loss=(None, 0.5))},
            "curve.loss in round 1: 1.2346 -> None",
            "differs",
        ),
        (
            {"curve": replace(CURVE, accuracy=(98.77, 98.7))},
            "curve.accuracy in round 50: 98.77 -> 98.7",
            "differs",
        ),
    ],
)
def test_what_changed_is_named(again, changed, text: str, verdict: str) -> None:
    found = list(again.differences(FULL, replace(FULL, **changed)))
    assert [str(one) for one in found] == [text]
    assert again.verdict(found) == verdict


def test_what_a_file_does_not_have_is_not_compared(again) -> None:
    bare = replace(RUN, agents_mean=None, agents_worst=None, sigma=None, epsilon=None)
    assert list(again.differences(bare, FULL)) == []


def test_the_worst_difference_counts(again) -> None:
    other = replace(FULL, accuracy=90.01, sigma=4.0)
    assert again.verdict(list(again.differences(FULL, other))) == "differs"


# ------------------------------------------------------------------ the command
def test_the_list_has_all_modes_and_at_least_five_algorithms(again, capsys) -> None:
    assert again.main(["--list"]) == 0
    chosen = [again.committed(again.RESULTS / f"{name}.json") for name in again.SHORT]
    assert len(chosen) >= 10 and {one.result.dataset for one in chosen} == {"mnist"}
    assert {one.result.mode for one in chosen} == {
        "as-published",
        "algorithm1",
        "sound",
    }
    assert len({one.result.algorithm for one in chosen}) >= 5
    assert all(one.run.seconds <= 180 for one in chosen)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(chosen) + 1 and lines[-1].endswith("in total")


def test_a_file_that_is_not_there_is_refused(again, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no file"):
        again.committed(tmp_path / "x.json")


def test_runs_are_measured_again_and_compared(again, capsys, tmp_path: Path) -> None:
    """Two rounds of digits: the same numbers, until the file has another one."""
    one = small(CELL, 0, 2)
    home = tmp_path / "first"
    again.queue.perform([one], home, home / "runs", 1, None, lambda name, news: None)
    path = cell_store.path_of(home, CELL, "as-published")
    assert again.main([str(path)]) == 0
    assert capsys.readouterr().out.startswith(
        f"same      as-published/{path.name} seed 0"
    )
    before = again.committed(path)
    wrong = replace(before.run, epsilon={"eavesdropper": Epsilon(1.0)})
    write_result(path, replace(before.result, runs={"0": wrong}))
    assert again.main([str(path)]) == 1
    assert "differs" in capsys.readouterr().out
