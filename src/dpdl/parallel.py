"""Independent pieces of work on all cores, with results that do not depend on how many there are.

Torch uses one thread per operation while a run is under way, and whole pieces (one
gradient, one row) are handed to the cores instead. A piece is always computed by one thread in one
order, so its bits are the same on one core, on two, and in another placement.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar, cast

A = TypeVar("A")
B = TypeVar("B")


@cache
def cores() -> int:
    """Cores that this process may use: `DPDL_CORES`, or its share under `torchrun`."""
    if given := os.environ.get("DPDL_CORES"):
        return max(1, int(given))
    allowed = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
    return max(1, allowed // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


@cache
def _pool() -> ThreadPoolExecutor:
    import torch  # not above: planning imports algorithms, and should not wait for torch

    # OpenMP and MKL have one setting per thread, so it is made in every thread.
    return ThreadPoolExecutor(cores(), "dpdl-core", torch.set_num_threads, (1,))


def each(work: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """`[work(item) for item in items]`, on all cores; an error in one of them is raised.

    Every core takes the next item when it has done one. Handing each item over by itself would cost
    10 us apiece.
    """
    items = list(items)
    if cores() == 1 and _is_single():
        return [work(item) for item in items]
    found: list[B | None] = [None] * len(items)
    left = iter(range(len(items)))

    def some(_: int) -> None:
        for k in left:
            found[k] = work(items[k])

    list(_pool().map(some, range(min(cores(), len(items)))))
    return cast("list[B]", found)


def _is_single() -> bool:
    """Whether this thread computes with one thread, as those of the pool do."""
    if "torch" not in sys.modules:
        return False
    import torch

    return torch.get_num_threads() == 1


@contextmanager
def one_thread_per_operation() -> Iterator[None]:
    """Torch operations stay on the thread that calls them; restored afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
