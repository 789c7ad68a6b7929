"""Pieces in other processes: the same results, errors come back, and leaving ends them."""

from __future__ import annotations

import os
import signal
import time

import pytest

from dpdl.attacks.workers import Watch, Workers
from dpdl.errors import InputError, RunFailed


def square(number: int, watch: Watch) -> tuple[int, int]:
    watch(0.5)
    return number**2, os.getpid()


def refuse(number: int, watch: Watch) -> None:
    if number == 1:
        raise InputError("One is not allowed.")


def die(number: int, watch: Watch) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dawdle(number: int, watch: Watch) -> None:
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


def test_leaving_stops_what_goes_on() -> None:
    """The first piece never ends by itself; the error of the second is raised, and nobody waits for the first."""
    began = time.monotonic()
    with pytest.raises(InputError), Workers(2) as workers:
        workers.each(dawdle, [(0,), (1,)], lambda share: None)
    assert time.monotonic() - began < 60
