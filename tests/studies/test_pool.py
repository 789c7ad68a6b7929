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
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.checkpoint import restore
from dpdl.folder.lock import claimed, refuse_difference
from dpdl.studies.held_out import held_out
from dpdl.studies.pool import at_once, run_many
from dpdl.studies.pool_messages import (
    MARK,
    Ending,
    EndState,
    Going,
    News,
    PooledRun,
    Standing,
    news_in,
    news_line,
)
from dpdl.tasks import data as datasets
from tests.studies.long_pool import TINY


def children() -> list[int]:
    tid = threading.get_native_id()
    return [
        int(pid)
        for pid in Path(f"/proc/{os.getpid()}/task/{tid}/children").read_text().split()
    ]


def silent(name: str, news: News) -> None:
    pass


def test_a_killed_child_fails_alone_and_the_others_finish(tmp_path: Path) -> None:
    runs = [PooledRun(tmp_path / name, TINY) for name in ("killed", "other")]
    before = set(children())
    heard: list[tuple[str, EndState | None]] = []

    def watch(name: str, news: News) -> None:
        if isinstance(news, Ending):
            heard.append((name, news.state))
        elif news == Going():
            heard.append((name, None))
            if name == "killed":
                (child,) = set(children()) - before
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
    assert set(children()) == before


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
    assert first.reached.epsilon < last.reached.epsilon
    assert first.reached.epsilon_all_rounds == pytest.approx(last.reached.epsilon)


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


def test_ctrl_c_saves_every_run_and_a_second_one_ends_them_at_once(
    tmp_path: Path,
) -> None:
    for presses in (1, 2):
        folder = tmp_path / str(presses)
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.studies.long_pool", str(folder)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        _until((folder / "state.safetensors").exists)
        for _ in range(presses):
            parent.send_signal(signal.SIGINT)
            time.sleep(0.001)  # or the two would be one
        said, _ = parent.communicate(timeout=60)
        with (folder / ".lock").open() as lock:
            _until(lambda: _free(lock))
        if presses == 1:
            assert (parent.returncode, said) == (0, "interrupted\n")
            assert saved_after_the_last_charged_round(folder)
        else:
            assert parent.returncode == -signal.SIGINT
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


def test_a_folder_is_claimed_by_one_and_left_alone_if_it_is_not_ours(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/note.txt").write_text("mine")
    for name, hint in (("file", "must be a folder"), ("other", "holds something else")):
        with pytest.raises(InputError, match=hint), claimed(tmp_path / name, "a.json"):
            pass
    with claimed(tmp_path / "new", "a.json") as before:
        assert before is None
        with (
            pytest.raises(InputError, match="another process"),
            claimed(tmp_path / "new", "a.json"),
        ):
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
        refuse_difference(
            Path("c"),
            {"lr": 0.1, "rounds": 5},
            {"lr": 0.1, "rounds": 6, "batch": 2},
            " for dpdl",
        )


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


NEWS = [
    Going(),
    Going(7),
    Ending(EndState.DONE, Standing(3, 0.25, 1.5, 1.5, "Its budget is spent.")),
    Ending(EndState.PAUSED, Standing(2, 0.1, "unbounded", "unbounded")),
    Ending(EndState.DIVERGED, error="Training diverged."),
    Ending(EndState.FAILED, error="The disk is full:\nno space."),
    Ending(EndState.INTERRUPTED),
]


@pytest.mark.parametrize("news", NEWS, ids=str)
def test_news_pass_through_a_line(news: News) -> None:
    line = news_line(news)
    assert line.startswith(MARK)
    assert "\n" not in line
    assert news_in(line) == news


def test_a_line_for_people_is_no_news() -> None:
    assert news_in("Traceback (most recent call last):\n") is None


@pytest.mark.parametrize("until", [None, 2])
def test_a_run_passes_through_a_line(until: int | None) -> None:
    run = PooledRun(Path("runs/a b"), TINY, until, held_out=until is not None)
    assert PooledRun.from_line(run.to_line() + "\n") == run


def test_held_out_records_are_a_tenth_of_the_training_records_and_no_test_records() -> (
    None
):
    data = datasets.load("digits")
    part = held_out(data, 3)
    assert (len(part.y), len(part.y_test)) == (
        len(data.y) - len(data.y) // 10,
        len(data.y) // 10,
    )

    def rows(x) -> list[bytes]:
        return sorted(one.numpy().tobytes() for one in x)

    assert sorted(rows(part.x) + rows(part.x_test)) == rows(data.x)
    assert (
        held_out(data, 3).fingerprint()
        == part.fingerprint()
        != held_out(data, 4).fingerprint()
    )
