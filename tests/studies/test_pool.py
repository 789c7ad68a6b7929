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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.checkpoint import restore
from dpdl.studies.pool import at_once, run_many
from dpdl.studies.pool_messages import (
    Ending,
    EndState,
    Going,
    News,
    PooledRun,
)
from dpdl.studies.pool_start import start_child
from tests.studies.long_pool import TINY


def children() -> set[int]:
    """Those of the server of this process that runs are forked from."""
    return _children(start_child.server(os.environ).process)


def _children(process: int) -> set[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return {int(child) for child in found.split()}


def silent(name: str, news: News) -> None:
    pass


def test_a_killed_child_fails_alone_and_the_others_finish(tmp_path: Path) -> None:
    runs = [PooledRun(tmp_path / name, TINY) for name in ("killed", "other")]
    heard: list[tuple[str, EndState | None]] = []

    def watch(name: str, news: News) -> None:
        if isinstance(news, Ending):
            heard.append((name, news.state))
        elif news == Going():
            heard.append((name, None))
            if name == "killed":
                (child,) = children()
                os.kill(child, signal.SIGKILL)

    endings = run_many(runs, 1, watch)
    killed, other = endings["killed"], endings["other"]
    assert killed.state is EndState.FAILED
    assert killed.error == "Its process was killed by signal 9."
    assert other.state is EndState.DONE
    assert other.reached and other.reached.round == 3
    assert json.loads((tmp_path / "other/summary.json").read_text())["rounds"] == 3
    assert heard == [
        ("killed", None),
        ("killed", EndState.FAILED),
        ("other", None),
        ("other", EndState.DONE),
    ]
    assert not children()


def test_a_run_pauses_after_its_round_and_goes_on_from_there(tmp_path: Path) -> None:
    def run(until: int | None) -> Ending:
        (ending,) = run_many(
            [PooledRun(tmp_path / "r", TINY, until)], 1, silent
        ).values()
        return ending

    state = tmp_path / "r/state.safetensors"
    first = run(1)
    assert first.state is EndState.PAUSED
    assert first.reached and first.reached.round == 1
    assert restore(state).round == 1
    when = state.stat().st_mtime_ns
    assert run(1) == first
    assert state.stat().st_mtime_ns == when, "what was reached before is not touched"
    last = run(3)
    assert last.state is EndState.DONE
    assert last.reached and last.reached.round == 3
    spent, total = first.reached.epsilon.finite, last.reached.epsilon.finite
    assert spent and total and spent < total
    assert first.reached.epsilon_all_rounds.finite == pytest.approx(total)


def test_divergence_and_refusals_are_endings(tmp_path: Path) -> None:
    wild = replace(TINY, lr=1e30, clip=1e9)
    (tmp_path / "refused").mkdir()
    (tmp_path / "refused/experiment.json").write_text("{")
    runs = [PooledRun(tmp_path / "wild", wild), PooledRun(tmp_path / "refused", TINY)]
    endings = run_many(runs, 1, silent)
    assert endings["wild"].state is EndState.DIVERGED
    assert "choose a smaller lr" in (endings["wild"].error or "")
    assert endings["refused"].state is EndState.FAILED
    assert "is damaged" in (endings["refused"].error or "")


def test_an_event_stops_all_runs_and_starts_no_more(tmp_path: Path) -> None:
    long = replace(TINY, rounds=100_000, checkpoint_every=5)
    runs = [PooledRun(tmp_path / name, long) for name in ("first", "second")]
    stop = threading.Event()

    def watch(name: str, news: News) -> None:
        if isinstance(news, Going) and news.round:
            stop.set()

    endings = run_many(runs, 1, watch, stop)
    assert [one.state for one in endings.values()] == [EndState.INTERRUPTED] * 2
    assert saved_after_the_last_charged_round(tmp_path / "first")
    assert not (tmp_path / "second").exists()


def test_when_the_parent_is_killed_its_children_save_and_leave(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.studies.long_pool", str(tmp_path / "r")],
        cwd=Path(__file__).parents[2],
    )
    try:
        _until((tmp_path / "r/state.safetensors").exists)
    finally:
        parent.kill()
        parent.wait()
    with (tmp_path / "r/.lock").open() as lock:
        _until(lambda: _free(lock))
    assert saved_after_the_last_charged_round(tmp_path / "r")
    assert not (tmp_path / "r/summary.json").exists()


@contextmanager
def a_long_pool(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """It goes on, and has saved a state."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.studies.long_pool", str(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        _until((folder / "state.safetensors").exists)
        yield parent
    finally:
        parent.kill()
        parent.communicate()


def test_ctrl_c_saves_every_run(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with a_long_pool(folder) as parent:
        parent.send_signal(signal.SIGINT)
        said, _ = parent.communicate(timeout=60)
        assert (parent.returncode, said) == (0, "asked\ninterrupted\n")
    with (folder / ".lock").open() as lock:
        _until(lambda: _free(lock))
    assert saved_after_the_last_charged_round(folder)


def test_a_second_ctrl_c_ends_runs_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with a_long_pool(folder) as parent:
        (server,) = _children(parent.pid)
        (child,) = _children(server)
        os.kill(child, signal.SIGSTOP)  # it cannot leave by itself
        parent.send_signal(signal.SIGINT)
        assert parent.stdout and parent.stdout.readline() == "asked\n"
        assert parent.poll() is None
        parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=60) == -signal.SIGINT
    with (folder / ".lock").open() as lock:
        _until(lambda: _free(lock))
    assert restore(folder / "state.safetensors").round >= 5


def saved_after_the_last_charged_round(folder: Path) -> bool:
    """Not only at the last checkpoint; the ledger has a header, and a line for each round."""
    charged = len((folder / "ledger.jsonl").read_text().splitlines()) - 1
    return restore(folder / "state.safetensors").round == charged


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


@pytest.mark.parametrize(
    ("jobs", "runs", "expected"), [(None, 9, 4), (None, 2, 2), (7, 9, 7), (None, 0, 1)]
)
def test_jobs_are_as_many_as_cores_or_runs(
    jobs: int | None, runs: int, expected: int
) -> None:
    assert at_once(jobs, runs, available=4) == expected


def test_no_jobs_are_refused() -> None:
    with pytest.raises(InputError, match="jobs"):
        at_once(0, 3)
