"""What a killed process leaves behind: files that were to replace others, and never did.

`files.write` writes `.NAME.XXXXXXXX` beside NAME, and pictures are drawn as `.NAME.XXXXXXXX.part`.
Who has the lock of a folder is its only writer, so what it finds there of its own is litter.
"""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpdl.folder import names

PART = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}(?P<drawn>\.part)?")
DRAWING = 60.0
"""Seconds in which a picture is surely drawn: that may go on after the lock is freed."""


def sweep_run(folder: Path) -> None:
    """Remove what a killed process left in the folder of a run, and in those inside it."""
    _sweep(folder, names.is_of_run)
    _sweep(folder / names.RECORDING, names.is_of_recording)
    for tracker in (names.WANDB, names.MLFLOW, names.TRACKIO):
        _sweep(folder / tracker, names.is_of_tracker)


def sweep_study(folder: Path) -> None:
    """Remove what a killed process left in the folder of a comparison or a search."""
    _sweep(folder, names.is_of_study)


def _sweep(folder: Path, is_ours: names.Test) -> None:
    for path in _litter(_entries(folder), is_ours):
        path.unlink(missing_ok=True)


def _litter(entries: Iterable[Path], is_ours: names.Test) -> Iterator[Path]:
    for path in entries:
        found = PART.fullmatch(path.name)
        if found is None or not is_ours(found["name"]):
            continue
        about = path.lstat()
        fresh = found["drawn"] and time.time() - about.st_mtime < DRAWING
        if stat.S_ISREG(about.st_mode) and not fresh:
            yield path


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
