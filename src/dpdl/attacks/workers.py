"""Pieces of an attack on several cores, each in a process of its own.

Threads would not help: second derivatives of one process are computed one after the other. The
pieces, and so the results, do not depend on how many processes there are.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.sharedctypes import Synchronized, SynchronizedArray
from typing import Any, TypeVar, final

from dpdl.errors import RunFailed
from dpdl.parallel import one_thread_per_operation
from dpdl.training.interrupt import Interrupted

ShareWatch = Callable[[float], None]
"""Called with the share of the work that is done."""

R = TypeVar("R")
METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""How processes are started: by one that imports torch once for all of them."""
MOST = 1024
"""Pieces of one call."""

_done: SynchronizedArray[float]
_stop: Synchronized[bool]


@final
class Workers(AbstractContextManager["Workers"]):
    """At most `count` processes, started when they are needed; one means this process.

    When `stop` is set, the work under way is left with `Interrupted`.
    """

    def __init__(self, count: int = 1, stop: threading.Event | None = None) -> None:
        self._leave = stop
        context = multiprocessing.get_context(METHOD)
        context.set_forkserver_preload(["torch"])
        self._pool = None
        self._done: Any = context.Array("d", MOST)
        self._stop: Any = context.Value("b", False)
        if count > 1:
            shared = (self._done, self._stop)
            self._pool = ProcessPoolExecutor(
                count, mp_context=context, initializer=_begin, initargs=shared
            )

    def __exit__(self, *_: object) -> None:
        self._stop.value = True
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def each(
        self,
        work: Callable[..., R],
        pieces: Sequence[tuple[Any, ...]],
        watch: ShareWatch,
    ) -> list[R]:
        """`[work(*piece, watch) for piece in pieces]`.

        Arguments and results must be picklable.
        """
        going_on = self._unless_stopped(watch)
        if self._pool is None or len(pieces) == 1:
            with one_thread_per_operation():
                return [
                    work(*piece, lambda share, k=k: going_on((k + share) / len(pieces)))
                    for k, piece in enumerate(pieces)
                ]
        self._done[: len(pieces)] = [0.0] * len(pieces)
        with _deaf():
            futures = [
                self._pool.submit(_perform, work, piece, k)
                for k, piece in enumerate(pieces)
            ]
        while (left := wait(futures, 0.2, FIRST_EXCEPTION)).not_done:
            failed = [future for future in left.done if future.exception()]
            if failed:
                futures = failed[:1]
                break
            going_on(sum(self._done[: len(pieces)]) / len(pieces))
        try:
            found = [future.result() for future in futures]
        except BrokenProcessPool:
            raise RunFailed(
                "A process of the attack was killed; was there enough memory?"
            ) from None
        watch(1.0)
        return found

    def _unless_stopped(self, watch: ShareWatch) -> ShareWatch:
        """`watch`, called several times a second, which leaves the work once `stop` is set."""

        def going_on(share: float) -> None:
            if self._leave and self._leave.is_set():
                raise Interrupted("Interrupted; continue with the same command.")
            watch(share)

        return going_on


class Stopped(Exception):
    """The attack was left."""


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started here ignore Ctrl-C: this one hears it and stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(done: SynchronizedArray[float], stop: Synchronized[bool]) -> None:
    global _done, _stop
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and stops them
    _done, _stop = done, stop
    torch.set_num_threads(1)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End with the parent, which cannot stop its children if it is killed."""
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    os._exit(1)


def _perform(work: Callable[..., R], piece: tuple[Any, ...], k: int) -> R:
    def watch(share: float) -> None:
        _done[k] = share
        if _stop.value:
            raise Stopped

    return work(*piece, watch)
