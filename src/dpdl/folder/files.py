"""Files that are either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dpdl.errors import InputError
from dpdl.records import Json, Record, written

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


def parsed(text: str | bytes) -> Json:
    """The JSON in a text; a ValueError where there is none, or NaN or an infinity in it."""
    found: Json = json.loads(text, parse_constant=_refuse_constant)
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_record(kind: type[R], path: Path) -> R:
    """The record in a JSON file; one that is damaged is refused with its name and the place."""
    try:
        return kind.from_json(parsed(path.read_text("utf-8")))
    except OSError as failure:
        reason = failure.strerror or failure
        raise InputError(f"File {str(path)!r} cannot be read: {reason}.") from failure
    except (ValueError, InputError) as failure:
        reason = str(failure).rstrip(".")
        raise InputError(f"File {str(path)!r} is damaged: {reason}.") from failure


@contextmanager
def refusing(what: str, path: Path) -> Iterator[None]:
    """Refuse in one sentence when a path that a person chose cannot be written."""
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or failure
        raise InputError(
            f"{what} {str(path)!r} cannot be written: {reason}."
        ) from failure
