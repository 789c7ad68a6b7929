"""Processes played by threads, for tests, debuggers and the `threads:K` placement."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from threading import Thread
from typing import final

from torch import Tensor

from dpdl.transport.base import PeerLost

Box = queue.SimpleQueue[Tensor | None]


@final
class Threads:
    """One of several threads; a box per ordered pair holds what was given and not yet taken.

    Threads of one process are not `apart`, unless they are to play processes that are.
    """

    def __init__(self, rank: int, size: int, boxes: Mapping[tuple[int, int], Box], apart: bool = False) -> None:
        self.rank = rank
        self.size = size
        self.apart = apart
        self._boxes = boxes

    def swap(self, out: Mapping[int, Tensor], expect: Mapping[int, int], like: Tensor) -> dict[int, Tensor]:
        """Copies go into the boxes, so no thread can see another one's later changes."""
        for r, rows in out.items():
            self._boxes[self.rank, r].put(rows.clone())
        return {r: self._take(r) for r in expect}

    def leave(self) -> None:
        """Tell all others that nothing more will come from here."""
        for r in range(self.size):
            self._boxes[self.rank, r].put(None)

    def _take(self, r: int) -> Tensor:
        rows = self._boxes[r, self.rank].get()
        if rows is None:
            self._boxes[r, self.rank].put(None)  # stay gone for whoever asks again
            raise PeerLost(r)
        return rows


def run_threads(size: int, work: Callable[[Threads], None], apart: bool = False) -> None:
    """Run `work` once per rank; rank 0 runs on the calling thread, so that signals reach it.

    The error raised is that of the lowest rank that failed by itself, not the `PeerLost` of those who waited for it.
    """
    boxes: dict[tuple[int, int], Box] = {(a, b): queue.SimpleQueue() for a in range(size) for b in range(size)}
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
    causes = {rank: f for rank, f in failures.items() if not isinstance(f, PeerLost)} or failures
    if causes:
        raise causes[min(causes)]
