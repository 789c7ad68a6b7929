"""Files that are either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dpdl.errors import InputError, reason
from dpdl.folder import names
from dpdl.foreign import read_json
from dpdl.records import Record, written

R = TypeVar("R", bound=Record)


def write(path: Path, content: bytes) -> None:
    """Replace a file: what a crash or a full disk interrupts leaves the old one as it was."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_json(path: Path, value: object) -> None:
    """Replace a JSON file by a record or a plain value; NaN is refused, JSON has none."""
    content = json.dumps(written(value), indent=2, allow_nan=False)
    write(path, f"{content}\n".encode())


def read_record(kind: type[R], path: Path) -> R:
    """The record in a JSON file; one that is damaged is refused with its name and the place."""
    try:
        return kind.from_json(read_json(path))
    except OSError as failure:
        raise InputError(
            f"File {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    except (ValueError, InputError) as failure:
        raise InputError(
            f"File {str(path)!r} is damaged: {reason(failure)}."
        ) from failure


@contextmanager
def refusing(what: str, path: Path) -> Iterator[None]:
    """Refuse in one sentence when a path that a person chose cannot be written."""
    try:
        yield
    except OSError as failure:
        raise InputError(
            f"{what} {str(path)!r} cannot be written: {reason(failure)}."
        ) from failure


def among_runs(name: str) -> Path:
    """Where a picture goes unless a file is named: the folder of all runs, which is made.

    What a command writes on its own is all there, and nothing of it beside a person's own files.
    """
    path = Path(names.RUNS) / name
    with refusing("Picture", path):
        path.parent.mkdir(exist_ok=True)
    return path
