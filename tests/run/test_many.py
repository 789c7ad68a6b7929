"""The pool: what happens to many runs when one of them, or the one that started them, dies."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.run.checkpoint import restore
from dpdl.run.claim import claimed, refuse_difference
from dpdl.run.experiment import Experiment
from dpdl.run.many import Errand, at_once, held_out, run_many
from dpdl.tasks import data as datasets

TINY = Experiment(
    dataset="digits", agents=3, batch=8, algorithm="dpdl-sound", rounds=3, sigma=1.0, eval_every=3, checkpoint_every=1
).resolved()  # fmt: skip


def children() -> list[int]:
    tid = threading.get_native_id()
    return [int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{tid}/children").read_text().split()]


def test_a_killed_child_fails_alone_and_the_others_finish(tmp_path: Path) -> None:
    errands = [Errand(tmp_path / name, TINY) for name in ("killed", "other")]
    before, heard = set(children()), []

    def watch(name: str, news: dict) -> None:
        if "round" not in news or "state" in news:
            heard.append((name, news.get("state")))
        if name == "killed" and news.get("going"):
            (child,) = set(children()) - before
            os.kill(child, signal.SIGKILL)

    outcomes = run_many(errands, 1, watch)
    assert outcomes["killed"].state == "failed"
    assert "signal 9" in outcomes["killed"].facts["error"]
    assert outcomes["other"].state == "done"
    assert outcomes["other"].facts["round"] == 3
    assert json.loads((tmp_path / "other/summary.json").read_text())["rounds"] == 3
    assert heard == [("killed", None), ("killed", "failed"), ("other", None), ("other", "done")]
    assert set(children()) == before


def test_when_the_parent_is_killed_its_children_save_and_leave(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from tests.run.test_many import TINY; from dpdl.run.many import Errand, run_many\n"
        "long = replace(TINY, rounds=100_000, checkpoint_every=5)\n"
        "run_many([Errand(Path(sys.argv[1]), long)], 1, lambda name, news: None)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "r")], cwd=Path(__file__).parents[2])
    state, ledger = tmp_path / "r/state.safetensors", tmp_path / "r/ledger.jsonl"
    try:
        _until(state.exists)
    finally:
        parent.kill()
        parent.wait()
    with (tmp_path / "r/.lock").open() as lock:
        _until(lambda: _free(lock))
    # Saved after the very last round that was paid for, not only at the last checkpoint.
    assert restore(state).round == len(ledger.read_text().splitlines()) - 1
    assert not (tmp_path / "r/summary.json").exists()


def _until(holds) -> None:
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def _free(lock) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_a_folder_is_claimed_by_one_and_left_alone_if_it_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/note.txt").write_text("mine")
    for name, hint in (("file", "must be a folder"), ("other", "holds something else")):
        with pytest.raises(InputError, match=hint), claimed(tmp_path / name, "a.json"):
            pass
    with claimed(tmp_path / "new", "a.json") as before:
        assert before is None
        with pytest.raises(InputError, match="another process"), claimed(tmp_path / "new", "a.json"):
            pass
    assert not (tmp_path / "new").exists()
    with claimed(tmp_path / "new", "a.json"):
        (tmp_path / "new/a.json").write_text('{"format": 1, "asked": 5}')
    with claimed(tmp_path / "new", "a.json") as before:
        assert before == {"format": 1, "asked": 5}
    for content, hint in (("{", "damaged"), ('{"format": 2}', "another version")):
        (tmp_path / "new/a.json").write_text(content)
        with pytest.raises(InputError, match=hint), claimed(tmp_path / "new", "a.json"):
            pass


def test_the_first_difference_is_named() -> None:
    refuse_difference(Path("c"), {"lr": 0.1}, {"lr": 0.1})
    with pytest.raises(InputError, match=r"started with rounds = 5 for dpdl, not 6"):
        refuse_difference(Path("c"), {"lr": 0.1, "rounds": 5}, {"lr": 0.1, "rounds": 6, "batch": 2}, " for dpdl")


def test_jobs_are_as_many_as_cores_or_runs(monkeypatch) -> None:
    monkeypatch.setattr("dpdl.run.many.cores", lambda: 4)
    assert [at_once(None, 9), at_once(None, 2), at_once(7, 9), at_once(None, 0)] == [4, 2, 7, 1]
    with pytest.raises(InputError, match="jobs"):
        at_once(0, 3)


def test_held_out_records_are_a_tenth_of_the_training_records_and_no_test_records() -> None:
    data = datasets.load("digits")
    part = held_out(data, 3)
    assert (len(part.y), len(part.y_test)) == (len(data.y) - len(data.y) // 10, len(data.y) // 10)

    def rows(x) -> list[bytes]:
        return sorted(one.numpy().tobytes() for one in x)

    assert sorted(rows(part.x) + rows(part.x_test)) == rows(data.x)
    assert held_out(data, 3).fingerprint() == part.fingerprint() != held_out(data, 4).fingerprint()
