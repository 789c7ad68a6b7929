"""Files of a stranger that may grow, shrink or vanish while they are read.

Nothing is followed out of a folder: a link, a pipe or a device in place of a file counts as no
file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple, final

TAIL = 64
"""Bytes before the place reached that must still be the same for a file to have grown."""
MOST = 16_000_000
"""Bytes that are read at once; what is left is read next time."""


class PlacedLine(NamedTuple):
    """A whole line, and where in its file it begins."""

    start: int
    text: bytes


def opened(path: Path) -> int | None:
    """A descriptor of a plain file; None: there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    return None


def content(path: Path, most: int = MOST) -> bytes | None:
    """A whole small file; None: there is none, or it is too large."""
    handle = opened(path)
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        found = file.read(most + 1)
    return found if len(found) <= most else None


def line_at(path: Path, start: int, most: int = MOST) -> bytes | None:
    """The line that begins at a place; None: there is none."""
    handle = opened(path)
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        file.seek(start)
        found = file.readline(most)
    return found if found.endswith(b"\n") else None


@final
class GrowingLines:
    """The lines of a file that grows, each given once; one that is half written is left for later.

    A file that was replaced, cut or changed before the place reached is read anew, and
    `generation` counts that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.generation = 0
        self.bytes_read = 0
        self._end = 0  # of the last whole line
        self._file: tuple[int, int] | None = None
        self._tail = b""

    def new(self) -> list[PlacedLine]:
        """What was added since the last call."""
        handle = opened(self.path)
        if handle is None:
            self._forget(None)
            return []
        with os.fdopen(handle, "rb", buffering=0) as file:
            about = os.fstat(file.fileno())
            which = (about.st_dev, about.st_ino)
            grown = which == self._file and about.st_size >= self._end
            if not (grown and self._same_before(file.fileno())):
                self._forget(which)
            return self._rest(file.fileno(), about.st_size)

    def _forget(self, which: tuple[int, int] | None) -> None:
        if self._file is not None:
            self.generation += 1
        self._file, self._end, self._tail = which, 0, b""

    def _same_before(self, handle: int) -> bool:
        return self._read(handle, len(self._tail), self._end - len(self._tail)) == (
            self._tail
        )

    def _rest(self, handle: int, size: int) -> list[PlacedLine]:
        if size == self._end:
            return []
        text = self._read(handle, min(size - self._end, MOST), self._end)
        whole, found, start = text.rfind(b"\n") + 1, [], self._end
        for line in text[:whole].splitlines(keepends=True):
            found.append(PlacedLine(start, line))
            start += len(line)
        self._end += whole
        self._tail = (self._tail + text[:whole])[-TAIL:]
        return found

    def _read(self, handle: int, count: int, start: int) -> bytes:
        found = os.pread(handle, count, start) if count else b""
        self.bytes_read += len(found)
        return found
