"""Folders that hold many runs: one writer at a time, and one request for all of them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.folder import names


def default_folder(command: str, asked: object) -> Path:
    """Default output folder: a hash of the request, so repeating it resumes it."""
    words = json.dumps(asked, sort_keys=True, default=str)
    digest = hashlib.sha256(words.encode()).hexdigest()[:10]
    return Path(names.RUNS) / f"{command}-{digest}"


@contextmanager
def claimed(out: Path, file: str) -> Iterator[dict[str, Any] | None]:
    """What `file` in `out` says was asked for before (None: it is new), while nobody else writes.

    A folder that holds something else is refused, and so is a path that is not a folder.
    """
    about, new = out / file, not out.exists()
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {str(out)!r} must be a folder, not a file.")
    if (
        out.is_dir()
        and not about.exists()
        and any(entry.name != names.LOCK for entry in out.iterdir())
    ):
        raise InputError(
            f"Folder {str(out)!r} holds something else (there is no {file} in it); "
            "choose another --out."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / names.LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as failure:
        raise InputError(
            f"Output folder {str(out)!r} cannot be written: {failure.strerror}."
        ) from failure
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _read(about) if about.exists() else None
    except BlockingIOError as failure:
        raise InputError(
            f"Folder {str(out)!r} is being written by another process."
        ) from failure
    finally:
        os.close(lock)
        left = [entry.name for entry in out.iterdir()]
        if new and left == [names.LOCK]:  # refused: leave nothing behind
            (out / names.LOCK).unlink()
            out.rmdir()


def _read(about: Path) -> dict[str, Any]:
    try:
        found = json.loads(about.read_text("utf-8"))
    except (OSError, ValueError) as failure:
        raise InputError(f"File {str(about)!r} is damaged: {failure}.") from failure
    if not isinstance(found, dict) or found.get("format") != 1:
        raise InputError(f"File {str(about)!r} was written by another version of dpdl.")
    return found


def refuse_difference(
    out: Path, before: Mapping[str, Any], now: Mapping[str, Any], whose: str = ""
) -> None:
    """Refuse, naming the first of them, other options than a folder was started with."""
    for name in [*before, *(name for name in now if name not in before)]:
        if before.get(name) != now.get(name):
            raise InputError(
                f"Folder {str(out)!r} was started with {name} = "
                f"{before.get(name)!r}{whose}, not {now.get(name)!r}; ask for the "
                "same, or choose another --out."
            )
