"""What a page is given of a run is what its files say, whatever happens to them."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from dpdl.graph import ring
from dpdl.watch.watched_run import WatchedRun
from tests.folder.measured import RUN
from tests.watch.growing import SECRET, Growing, line, listing


@pytest.fixture
def run(tmp_path: Path) -> Growing:
    return Growing(tmp_path / "dpdl-seed7")


def watched(run: Growing | Path) -> WatchedRun:
    found = WatchedRun(1, run.path if isinstance(run, Growing) else run)
    found.refresh()
    return found


def everything(found: WatchedRun, public: bool = False) -> dict:
    return found.to_json(public, 0, 0)


# ------------------------------------------------------------------ what is new
def test_a_page_is_given_what_it_does_not_have(run: Growing) -> None:
    run.go(1, 5)
    found = watched(run)
    assert everything(found)["columns"]["round"] == [1, 2, 3, 4, 5]
    run.go(6, 8)
    found.refresh()
    answer = found.to_json(False, 0, 5)
    assert (answer["known"], answer["rounds"]) == (5, 8)
    assert answer["columns"]["round"] == [6, 7, 8]
    assert {len(column) for column in answer["columns"].values()} == {3}


def test_an_update_of_a_large_run_reads_and_sends_little(tmp_path: Path) -> None:
    run = Growing(tmp_path / "run", ring(200), rounds=5000)
    run.go(1, 2000)
    found = watched(run)
    whole = run.metrics.stat().st_size + run.ledger.stat().st_size
    assert found.bytes_read == whole > 4_000_000
    for t in range(2001, 2011):
        run.go(t, t)
        before = found.bytes_read
        found.refresh()
        answer = json.dumps(found.to_json(False, 0, t - 1))
        assert found.bytes_read - before < 5_000
        assert len(answer) < 10_000


def test_half_a_line_is_not_shown(run: Growing) -> None:
    run.go(1, 2)
    with run.metrics.open("ab") as file:
        file.write(line(3)[:40])
    found = watched(run)
    assert len(found.table) == 2
    assert found.wrong == ""
    with run.metrics.open("ab") as file:
        file.write(line(3)[40:])
    found.refresh()
    assert len(found.table) == 3


def test_a_resumed_run_is_given_anew(run: Growing) -> None:
    """`dpdl resume` drops metrics that are newer than the checkpoint."""
    run.go(1, 6)
    found = watched(run)
    kept = run.metrics.read_bytes().splitlines(keepends=True)[:4]
    other = run.path / ".new"
    other.write_bytes(b"".join(kept))
    other.replace(run.metrics)
    run.go(5, 5)
    found.refresh()
    answer = found.to_json(False, 0, 6)
    assert answer["generation"] == 1
    assert answer["known"] == 0
    assert answer["columns"]["round"] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["experiment.json", "summary.json", "metrics.jsonl"])
def test_damage_is_said_as_long_as_it_is_there(run: Growing, name: str) -> None:
    run.go(1, 2)
    file = run.metrics.parent / name
    file.write_text("{{{\n", "utf-8")
    found = watched(run)
    for _ in range(2):
        found.refresh()
        assert found.wrong.startswith(f"{name} is damaged: ")
        assert everything(found)["damaged"] is True
    file.unlink()
    found.refresh()
    assert found.wrong == ""


def test_a_damaged_ledger_does_not_understate_what_is_spent(run: Growing) -> None:
    run.go(1, 3)
    with run.ledger.open("ab") as file:
        file.write(b"{}\n")
    found = watched(run)
    assert found.wrong.startswith("The ledger is damaged: ")
    assert everything(found)["epsilon"] is None


def test_a_damaged_line_is_named_and_the_others_shown(run: Growing) -> None:
    run.go(1, 2)
    with run.metrics.open("ab") as file:
        file.write(b'{"round": 0}\n')
    run.go(3, 3)
    found = watched(run)
    assert found.wrong.startswith("metrics.jsonl is damaged: ")
    assert everything(found)["columns"]["round"] == [1, 2, 3]
    assert found.agents_in(3)["round"] == 3, "places in the file are kept, too"


def test_a_folder_that_vanishes_leaves_nothing_and_no_error(run: Growing) -> None:
    run.go(1, 3)
    found = watched(run)
    shutil.rmtree(run.path)
    found.refresh()
    answer = everything(found)
    assert answer["columns"]["round"] == []
    assert answer["epsilon"] is None


# ------------------------------------------------------------------ what is said
def test_progress_and_time_left(run: Growing) -> None:
    run.go(1, 10)
    run._charge_line({"round": 11})
    answer = everything(watched(run))
    assert (answer["done"], answer["total"]) == (10, 40)
    assert answer["state"] == "running"
    assert answer["left"] == pytest.approx(30 * 0.5)


def test_a_run_that_does_not_grow_is_quiet_and_a_result_ends_it(run: Growing) -> None:
    run.go(1, 10)
    old = time.time() - 300
    for path in (run.metrics, run.ledger):
        os.utime(path, (old, old))
    found = watched(run)
    answer = everything(found)
    assert answer["state"] == "quiet"
    assert answer["quiet"] == pytest.approx(300, abs=5)
    run.finish()
    found.refresh()
    assert everything(found)["state"] == "finished"
    (run.path / "summary.json").unlink()  # it is extended
    found.refresh()
    assert everything(found)["state"] == "quiet"


def test_an_old_run_is_shown_as_far_as_it_goes() -> None:
    answer = everything(watched(RUN))
    assert answer["title"] == "dpdl on digits, ring of 3 agents"
    assert answer["state"] == "finished"
    assert answer["agents"] is None
    assert answer["columns"]["signal"] == [None] * 3
    assert answer["score"] == {"label": "test accuracy", "percent": True}


def test_nothing_is_written_and_nothing_locked(run: Growing) -> None:
    run.go(1, 5)
    before = listing(run.path)
    found = watched(run)
    found.spending.compute(5)
    everything(found)
    found.drawing()
    found.agents_in(2)
    assert listing(run.path) == before


# ------------------------------------------------------------------ agents and graph
def test_the_scores_of_agents_in_any_round(run: Growing) -> None:
    run.go(1, 30)
    found = watched(run)
    last = json.loads(line(30))["accuracy"]["agents"]
    assert everything(found)["agents"] == last
    early = json.loads(line(4))["accuracy"]["agents"]
    assert found.agents_in(4) == {"round": 4, "agents": early}
    assert found.agents_in(31) is None


def test_the_graph_is_that_of_the_run(run: Growing) -> None:
    found = watched(run)
    assert (found.drawing()["name"], found.drawing()["agents"]) == ("ring", 3)


def test_a_graph_that_options_do_not_name_is_in_the_ledger(run: Growing) -> None:
    run.write_facts(graph="/somewhere/own.csv")
    found = watched(run)
    drawn = found.drawing()
    assert (drawn["name"], drawn["edges"]) == ("own.csv", 3)


def test_a_graph_that_is_nowhere_is_not_drawn(run: Growing) -> None:
    run.ledger.unlink()
    run.write_facts(graph="own.csv")
    assert "does not hold the graph" in watched(run).drawing()["wrong"]


# ------------------------------------------------------------------ what is private
def test_a_public_page_is_given_what_epsilon_covers(run: Growing) -> None:
    """No loss, no time, and no name of a folder, which often holds the seed."""
    run.go(1, 3, train_loss={"mean": SECRET, "min": SECRET, "max": SECRET})
    found = watched(run)
    private, public = everything(found), everything(found, public=True)
    assert str(SECRET)[:8] in json.dumps(private)
    text = json.dumps(public)
    assert str(SECRET)[:8] not in text
    assert (private["name"], public["name"]) == (run.path.name, "run 1")
    assert "seconds" not in public["columns"]
    assert public["left"] is None
    assert public["columns"]["score"] == private["columns"]["score"]
    assert public["agents"] == private["agents"]


def test_scores_on_a_sites_own_records_are_left_out_of_a_public_page(
    run: Growing,
) -> None:
    run.write_facts(sites=["north.npz", "south.npz"], test=None)
    run.go(1, 3)
    found = watched(run)
    private, public = everything(found), everything(found, public=True)
    assert not private["covered"]["score"]
    assert private["agents"]
    assert public["agents"] is None
    assert not [name for name in public["columns"] if name.startswith("score")]
    run.write_facts(test="public.npz")
    found.refresh()
    assert everything(found, public=True)["agents"]


def test_a_link_in_place_of_a_file_is_not_followed(
    run: Growing, tmp_path: Path
) -> None:
    run.go(1, 3)
    moved = tmp_path / "elsewhere.jsonl"
    run.metrics.rename(moved)
    run.metrics.symlink_to(moved)
    found = watched(run)
    assert len(found.table) == 0
    assert found.agents_in(1) is None
