"""How a run is asked to stop: by an event, which Ctrl-C or a deadline sets.

A run that is asked to stop finishes its round and saves its state. A second Ctrl-C stops at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dpdl.errors import DpdlError


class Interrupted(DpdlError):
    """The run was asked to stop, and did."""

    exit_code = 130


@contextmanager
def interruptible(stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event, `stop` if it is given, that the first SIGINT or SIGTERM sets.

    The second one raises `KeyboardInterrupt`. Signals reach the main thread only; on another thread
    nothing is changed.
    """
    asked = threading.Event() if stop is None else stop
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    signalled = False

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal signalled
        if signalled:
            raise KeyboardInterrupt
        signalled = True
        asked.set()

    for number in before:
        signal.signal(number, handler)
    try:
        yield asked
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def deadline(minutes: float | None) -> Iterator[threading.Event]:
    """An event that is set when the minutes are over; None: never."""
    over = threading.Event()
    if minutes is None:
        yield over
        return
    timer = threading.Timer(minutes * 60, over.set)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
