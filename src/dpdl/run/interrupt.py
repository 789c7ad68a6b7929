"""Ctrl-C finishes the round, saves the state and stops; a second Ctrl-C stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dpdl.errors import DpdlError


class Interrupted(DpdlError):
    """The user stopped the run."""

    exit_code = 130


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets. Signals reach the main thread only; elsewhere nothing is changed."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handler(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    for number in before:
        signal.signal(number, handler)
    try:
        yield asked
    finally:
        for number, old in before.items():
            signal.signal(number, old)
