"""Processes played by threads, for tests, debuggers and the `threads:K` placement."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from threading import Thread
from typing import final

from torch import Tensor

from dpdl.transport.base import Address, PeerLost, Used, check_rows

Box = queue.SimpleQueue[tuple[Address, Tensor] | None]


@final
class Threads:
    """One of several threads; a box per ordered pair holds what was given and not yet taken.

    Threads of one process are not `apart`, unless they are to play processes that are.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        boxes: Mapping[tuple[int, int], Box],
        apart: bool = False,
    ) -> None:
        self.rank = rank
        self.size = size
        self.apart = apart
        self._boxes = boxes
        self._used = Used(rank)

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """Copies go into the boxes, so no thread can see another one's later changes."""
        self._used.add(address)
        for r, rows in out.items():
            self._boxes[self.rank, r].put((address, rows.clone()))
        return {r: self._take(r, address, count, like) for r, count in expect.items()}

    def leave(self) -> None:
        """Tell all others that nothing more will come from here."""
        for r in range(self.size):
            self._boxes[self.rank, r].put(None)

    def _take(self, r: int, address: Address, count: int, like: Tensor) -> Tensor:
        found = self._boxes[r, self.rank].get()
        if found is None:
            self._boxes[r, self.rank].put(None)  # stay gone for whoever asks again
            raise PeerLost(r)
        check_rows(r, address, *found, count, like)
        return found[1]


def run_threads(
    size: int, work: Callable[[Threads], None], apart: bool = False
) -> None:
    """Run `work` once per rank; rank 0 runs on the calling thread, so that signals reach it.

    The error raised is that of the lowest rank that failed by itself, not the `PeerLost` of those
    who waited for it.
    """
    pairs = [(a, b) for a in range(size) for b in range(size)]
    boxes: dict[tuple[int, int], Box] = {pair: queue.SimpleQueue() for pair in pairs}
    failures: dict[int, BaseException] = {}

    def one(rank: int) -> None:
        transport = Threads(rank, size, boxes, apart)
        try:
            work(transport)
        except BaseException as failure:
            failures[rank] = failure
        finally:
            transport.leave()

    others = [Thread(target=one, args=(rank,), daemon=True) for rank in range(1, size)]
    for thread in others:
        thread.start()
    one(0)
    for thread in others:
        thread.join()
    alone = {r: f for r, f in failures.items() if not isinstance(f, PeerLost)}
    causes = alone or failures
    if causes:
        raise causes[min(causes)]
