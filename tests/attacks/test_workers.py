"""Pieces in other processes: the same results, errors come back, and leaving ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpdl.attacks.workers import ShareWatch, Workers
from dpdl.errors import InputError, RunFailed
from dpdl.training.interrupt import Interrupted


def square(number: int, watch: ShareWatch) -> tuple[int, int]:
    watch(0.5)
    return number**2, os.getpid()


def refuse(number: int, watch: ShareWatch) -> None:
    if number == 1:
        raise InputError("One is not allowed.")


def die(number: int, watch: ShareWatch) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dawdle(number: int, watch: ShareWatch) -> None:
    if number == 1:
        raise InputError("One is not allowed.")
    while True:
        time.sleep(0.01)
        watch(0.1)


@pytest.mark.parametrize("count", [1, 2])
def test_results_are_in_order_and_progress_ends_at_one(count: int) -> None:
    shares: list[float] = []
    with Workers(count) as workers:
        found = workers.each(square, [(k,) for k in range(5)], shares.append)
    assert [value for value, _ in found] == [0, 1, 4, 9, 16]
    assert (os.getpid() in {process for _, process in found}) == (count == 1)
    assert all(0 <= share <= 1 for share in shares) and shares == sorted(shares)
    assert count == 1 or shares[-1] == 1


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_comes_back(count: int) -> None:
    with Workers(count) as workers, pytest.raises(InputError, match="not allowed"):
        workers.each(refuse, [(0,), (1,), (2,)], lambda share: None)


def test_a_killed_process_is_told() -> None:
    with Workers(2) as workers, pytest.raises(RunFailed, match="was killed"):
        workers.each(die, [(0,), (1,)], lambda share: None)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks processes up in /proc"
)
def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = f"""
from dpdl.attacks.workers import Workers
from tests.attacks.pieces import tell
if __name__ == "__main__":
    with Workers(2) as workers:
        workers.each(tell, [(0, {str(tmp_path)!r}), (1, {str(tmp_path)!r})], lambda share: None)
"""
    script = tmp_path.parent / "parent.py"
    script.write_text(code)
    parent = subprocess.Popen(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    until = time.monotonic() + 120
    while len(list(tmp_path.iterdir())) < 2:
        assert time.monotonic() < until and parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    workers = [int(path.name) for path in tmp_path.iterdir()]
    until = time.monotonic() + 30
    while any(map(alive, workers)):
        assert time.monotonic() < until, "they live on"
        time.sleep(0.05)


def test_leaving_stops_what_goes_on() -> None:
    """The first piece never ends by itself.

    The error of the second is raised, and nobody waits for the first.
    """
    began = time.monotonic()
    with pytest.raises(InputError), Workers(2) as workers:
        workers.each(dawdle, [(0,), (1,)], lambda share: None)
    assert time.monotonic() - began < 60


def linger(number: int, watch: ShareWatch) -> None:
    while True:
        time.sleep(0.01)
        watch(0.1)


@pytest.mark.parametrize("count", [1, 2])
def test_an_event_ends_what_goes_on(count: int) -> None:
    stop = threading.Event()
    with Workers(count, stop) as workers, pytest.raises(Interrupted):
        workers.each(linger, [(0,), (1,)], lambda share: stop.set())
