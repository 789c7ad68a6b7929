"""Pieces of work that processes of their own can import."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dpdl.attacks.workers import ShareWatch


def tell(number: int, path: str, watch: ShareWatch) -> None:
    Path(path, str(os.getpid())).touch()
    while number == 0:  # the other one is idle
        time.sleep(0.01)
