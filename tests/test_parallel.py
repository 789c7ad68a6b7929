"""Work on all cores gives what one loop would give."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
import torch

from dpdl.parallel import cores, each, one_thread_per_operation


def test_results_are_in_the_order_of_the_items() -> None:
    def late_first(k: int) -> int:
        time.sleep(0.002 * (5 - k))
        return k * k

    assert each(late_first, range(6)) == [0, 1, 4, 9, 16, 25]
    assert each(str, []) == []
    assert each(str, iter([3])) == ["3"]


def test_every_item_is_done_once() -> None:
    done: list[int] = []
    lock = threading.Lock()

    def note(k: int) -> None:
        with lock:
            done.append(k)

    each(note, range(500))
    assert sorted(done) == list(range(500))


def test_an_error_of_one_piece_is_raised() -> None:
    def broken(k: int) -> int:
        if k == 3:
            raise ValueError("piece 3")
        return k

    with pytest.raises(ValueError, match="piece 3"):
        each(broken, range(6))
    assert each(abs, [-1]) == [1], "the cores work on after it"


def test_a_piece_is_computed_by_one_thread() -> None:
    assert set(each(lambda _: torch.get_num_threads(), range(20))) == {1}


ONE_CORE = """
import threading, torch
from dpdl.parallel import each, one_thread_per_operation

def where(_):
    return threading.current_thread() is threading.main_thread(), torch.get_num_threads()

torch.set_num_threads(2)
assert each(where, range(3)) == [(False, 1)] * 3
with one_thread_per_operation():
    assert each(where, range(3)) == [(True, 1)] * 3
"""


def test_one_core_hands_nothing_over() -> None:
    """Where torch has one thread here, too: a piece must not be computed by several."""
    surroundings = {**os.environ, "DPDL_CORES": "1"}
    subprocess.run([sys.executable, "-c", ONE_CORE], env=surroundings, check=True)


def test_the_number_of_threads_is_restored() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    seen = []

    def fail() -> None:
        with one_thread_per_operation():
            seen.append(torch.get_num_threads())
            raise RuntimeError

    try:
        with pytest.raises(RuntimeError):
            fail()
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


def test_there_is_at_least_one_core() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1) or os.environ.get("DPDL_CORES")


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"DPDL_CORES": "3"}, 3),
        ({"DPDL_CORES": "0"}, 1),
        ({"LOCAL_WORLD_SIZE": "1000"}, 1),
        ({"DPDL_CORES": "4", "LOCAL_WORLD_SIZE": "2"}, 4),
    ],
    ids=str,
)
def test_the_environment_sets_the_number_of_cores(settings, wanted: int) -> None:
    clean = {k: v for k, v in os.environ.items() if k != "DPDL_CORES"}
    done = subprocess.run(
        [sys.executable, "-c", "from dpdl.parallel import cores; print(cores())"],
        env={**clean, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == wanted
