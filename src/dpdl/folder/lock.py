"""A folder of many runs: one writer at a time, and one request for all of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dpdl.errors import InputError, reason
from dpdl.folder import litter, names
from dpdl.foreign import read_json
from dpdl.records import Json, Record
from dpdl.text import shown

Kind = TypeVar("Kind", bound=Record)


@contextmanager
def locked(out: Path, file: str, kind: type[Kind]) -> Iterator[Kind | None]:
    """Keep other writers out of a folder; the record in its `file`, None if the folder is new.

    A folder that holds something else is refused, and so is a path that is not a folder. A new
    folder in which nothing was written is removed again.
    """
    about, new = out / file, not out.exists()
    refuse_other(out, file)
    lock = _lock(out)
    try:
        litter.sweep_study(out)
        yield kind.from_json(_read(about), str(about)) if about.exists() else None
    finally:
        os.close(lock)
        left = [entry.name for entry in out.iterdir()]
        if new and left == [names.LOCK]:
            (out / names.LOCK).unlink()
            out.rmdir()


def refuse_other(out: Path, file: str) -> None:
    """Refuse a path that is no folder, and a folder of something else, without `file` in it."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"--out {str(out)!r} must be a folder, not a file.")
    there = {entry.name for entry in out.iterdir()} - {names.LOCK}
    if there and file not in there:
        raise InputError(
            f"Folder {str(out)!r} holds something else (there is no {file} in it); "
            "choose another --out."
        )


def _lock(out: Path) -> int:
    """The lock of a folder, which is made if need be; closing it frees the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / names.LOCK, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    except OSError as failure:
        raise InputError(
            f"Output folder {str(out)!r} cannot be written: {reason(failure)}."
        ) from failure
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as failure:
        os.close(lock)
        raise InputError(
            f"Folder {str(out)!r} is being written by another process."
        ) from failure
    return lock


def _read(about: Path) -> Json:
    try:
        return read_json(about)
    except (OSError, ValueError) as failure:
        raise InputError(f"File {str(about)!r} is damaged: {failure}.") from failure


def refuse_difference(
    out: Path, before: Mapping[str, object], now: Mapping[str, object], whose: str = ""
) -> None:
    """Refuse other options than a folder was started with; the first of them is named."""
    for name in [*before, *(name for name in now if name not in before)]:
        if before.get(name) != now.get(name):
            raise InputError(
                f"Folder {str(out)!r} was started with {name} = "
                f"{shown(before.get(name))}{whose}, not {shown(now.get(name))}; ask for the "
                "same, or choose another --out."
            )
