"""Runs of a folder: those that are there, come, go and are too many."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.watch.watched_folder import MOST, Has, WatchedFolder, runs_in
from tests.watch.growing import Growing


def names_of(watched: WatchedFolder) -> list[str]:
    return [run["name"] for run in watched.to_json({})["runs"]]


def test_a_run_is_shown_alone(tmp_path: Path) -> None:
    Growing(tmp_path / "run")
    assert names_of(WatchedFolder(tmp_path / "run")) == ["run"]


def test_runs_are_found_also_in_comparisons(tmp_path: Path) -> None:
    for place in ("one", "compare/runs/dpdl-seed0", "compare/runs/dpdl-seed1"):
        Growing(tmp_path / place)
    Growing(tmp_path / "one/recording/inner")
    Growing(tmp_path / "too/deep/to/be/found")
    found = {str(path.relative_to(tmp_path)) for path in runs_in(tmp_path)}
    assert found == {"one", "compare/runs/dpdl-seed0", "compare/runs/dpdl-seed1"}


def test_runs_come_and_go_by_themselves(tmp_path: Path) -> None:
    watched = WatchedFolder(tmp_path)
    assert names_of(watched) == []
    Growing(tmp_path / "a")
    watched.refresh()
    Growing(tmp_path / "b")
    watched.refresh()
    assert names_of(watched) == ["a", "b"]
    shutil.rmtree(tmp_path / "a")
    watched.refresh()
    assert names_of(watched) == ["b"]
    Growing(tmp_path / "a")
    watched.refresh()
    numbers = [run.number for run in watched.runs]
    assert numbers == [2, 3], "a run that came back is another one"


def test_a_page_says_what_it_has(tmp_path: Path) -> None:
    run = Growing(tmp_path / "a")
    run.go(1, 4)
    watched = WatchedFolder(tmp_path)
    (answer,) = watched.to_json({1: Has(0, 3)})["runs"]
    assert answer["columns"]["round"] == [4]
    (answer,) = watched.to_json({1: Has(7, 3)})["runs"]
    assert answer["columns"]["round"] == [1, 2, 3, 4], "of another generation"


def test_of_too_many_runs_the_latest_are_shown(tmp_path: Path) -> None:
    for k in range(MOST + 3):
        place = tmp_path / f"run{k}"
        place.mkdir()
        (place / "experiment.json").write_text("{}")
        os.utime(place / "experiment.json", (1000 + k, 1000 + k))
    watched = WatchedFolder(tmp_path)
    assert watched.to_json({})["left_out"] == 3
    assert names_of(watched)[0] == "run3"
    assert names_of(watched)[-1] == f"run{MOST + 2}"


def test_links_lead_nowhere(tmp_path: Path) -> None:
    Growing(tmp_path / "elsewhere/run")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/link").symlink_to(tmp_path / "elsewhere/run")
    (tmp_path / "here/odd").mkdir()
    (tmp_path / "here/odd/experiment.json").symlink_to(
        tmp_path / "elsewhere/run/experiment.json"
    )
    assert list(runs_in(tmp_path / "here")) == []


@pytest.mark.parametrize("path", ["nowhere", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is not a folder; give a run folder"):
        WatchedFolder(tmp_path / path)


def test_a_folder_of_other_things_can_be_refused(tmp_path: Path) -> None:
    watched = WatchedFolder(tmp_path)
    watched.require_runs()  # a run may begin in an empty one
    (tmp_path / "letter.txt").touch()
    with pytest.raises(InputError, match=r"holds no run \(experiment.json\)"):
        watched.require_runs()
    Growing(tmp_path / "run")
    watched.refresh()
    watched.require_runs()


def test_numbers_that_do_not_exist_have_no_answer(tmp_path: Path) -> None:
    Growing(tmp_path / "a").go(1, 2)
    watched = WatchedFolder(tmp_path)
    assert watched.drawing(1)["agents"] == 3
    assert watched.drawing(2) is None
    assert watched.agents_in(1, 2)["round"] == 2
    assert watched.agents_in(1, 3) is None
    assert watched.agents_in(9, 2) is None


def test_single_scores_on_private_records_are_not_given_to_a_public_page(
    tmp_path: Path,
) -> None:
    run = Growing(tmp_path / "a")
    run.write_facts(sites=["north.npz"], test=None)
    run.go(1, 2)
    assert WatchedFolder(tmp_path).agents_in(1, 2) is not None
    assert WatchedFolder(tmp_path, public=True).agents_in(1, 2) is None


def test_the_accountant_computes_all_and_then_waits(tmp_path: Path) -> None:
    Growing(tmp_path / "a", rounds=3).go(1, 2)
    watched = WatchedFolder(tmp_path)
    thread = threading.Thread(target=watched.account)
    thread.start()
    watched.close()
    thread.join(20)
    assert not thread.is_alive()
    while watched.account_once():
        pass
    (answer,) = watched.to_json({})["runs"]
    assert answer["epsilon"]["rounds"] == [1, 2, 3]
    assert answer["epsilon"]["spent_after"] == 2
