r"""The secrets of the last two rounds, in a file that is overwritten in its place.

    file = place 0 | place 1, each of a multiple of 4096 bytes
    place = count, view, round, keys (u64, little-endian) | keys x 32 bytes | SHA-256 | zeros
    SHA-256 over "dpdl-round-key-1\0" and all bytes of the place before it

Round number `count` of those that were begun goes to place `count` mod 2. So a place is written
while the other, which has the secrets of the round before, stays whole; and once two more rounds
have begun, no byte of a secret is left in the file. A copy-on-write file system, a solid-state disk
or a backup can keep more: the disk should be encrypted, and this file left out of backups.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self, final

from dpdl.errors import InputError, RunFailed, reason
from dpdl.peer.keys import erase_secret, write_secret

KEY = 32
"""Bytes of a secret."""
BLOCK = 4096
"""What a disk writes at once: a torn write of one place does not touch the other."""
DOMAIN = b"dpdl-round-key-1\0"
HEAD = struct.Struct("<4Q")
CHECK = 32
MOST_KEYS = 1 << 16


class _Place(NamedTuple):
    """The secrets of a round, and which begun round it was."""

    number: int
    view: int
    round: int
    material: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"_Place(round {self.round} of view {self.view})"


@final
class RoundKey:
    """The file with the secrets of the round that has begun, and of the one before.

    Nothing is remembered: every call reads the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places()

    @classmethod
    def create(cls, path: Path, keys: int) -> Self:
        """A new file, 0600, with room for so many secrets a round; one that is there is refused."""
        if not 1 <= keys <= MOST_KEYS:
            raise ValueError(f"{keys} secrets a round")
        needed = HEAD.size + keys * KEY + CHECK
        write_secret(path, bytes(2 * BLOCK * -(-needed // BLOCK)))
        return cls(path)

    @classmethod
    def renewed(cls, path: Path, keys: int) -> Self:
        """The file, or a new one in place of one that is lost or damaged.

        For a view of which no round has begun: nothing will need a secret from before.
        """
        try:
            return cls(path)
        except InputError:
            erase_secret(path)
            return cls.create(path, keys)

    def begin(self, view: int, round: int, material: tuple[bytes, ...]) -> None:
        """Make the secrets of a round durable, in the place of the round before last.

        A round whose secrets were made, but that has not begun because of a crash, is replaced:
        those of the round before stay.
        """
        if not material or any(len(key) != KEY for key in material):
            raise ValueError(f"secrets must have {KEY} bytes")
        last = self._last()
        count = 1 if last is None else last.number + 1
        if last is not None and (last.view, last.round) == (view, round):
            count = last.number
        self._write(_Place(count, view, round, material))

    def material(self, view: int, round: int) -> tuple[bytes, ...]:
        """The secrets of a round that has begun; lost ones are refused, with the remedy."""
        for place in self._places():
            if place is not None and (place.view, place.round) == (view, round):
                return place.material
        raise InputError(
            f"Key file {str(self.path)!r} has no secrets of round {round}, which has begun; put "
            f"the right file back, or {self._remedy}."
        )

    def last(self) -> tuple[int, int, tuple[bytes, ...]] | None:
        """View, round and secrets that were written last; None: no round has begun."""
        found = self._last()
        return None if found is None else (found.view, found.round, found.material)

    def erase(self) -> None:
        """Overwrite all secrets with zeros: no round will be run again."""
        self._overwrite(0, bytes(len(self._content())))

    # ------------------------------------------------------------------ the two places
    def _last(self) -> _Place | None:
        found = [place for place in self._places() if place is not None]
        return max(found, key=lambda place: place.number, default=None)

    def _places(self) -> list[_Place | None]:
        """Both places; None: nothing was written there, or a crash tore it."""
        content = self._content()
        half = len(content) // 2
        if len(content) % (2 * BLOCK) or not content:
            raise self._torn()
        halves = content[:half], content[half:]
        found = [_parsed(one) for one in halves]
        if not any(found) and content.strip(b"\0"):
            raise self._torn()
        return found

    @property
    def _remedy(self) -> str:
        run = self.path.absolute().parent.name[:12]
        return f"let all members say: dpdl peer drop {run} --nobody"

    def _torn(self) -> InputError:
        return InputError(
            f"Key file {str(self.path)!r} is damaged: no secrets of a round are whole in it; put "
            f"the right file back, or {self._remedy}."
        )

    def _write(self, place: _Place) -> None:
        size = len(self._content()) // 2
        content = _written(place)
        if len(content) > size:
            raise ValueError(f"{len(place.material)} secrets do not fit in a place")
        self._overwrite(place.number % 2 * size, content.ljust(size, b"\0"))

    # ------------------------------------------------------------------ the file
    def _content(self) -> bytes:
        most = 2 * (HEAD.size + MOST_KEYS * KEY + CHECK + BLOCK)
        with self._opened(os.O_RDONLY) as file:
            self._check_mode(os.fstat(file).st_mode)
            return os.pread(file, most, 0)

    def _check_mode(self, mode: int) -> None:
        if not stat.S_ISREG(mode):
            raise InputError(f"Key file {str(self.path)!r} is not a file.")
        if mode & 0o077:
            raise InputError(
                f"Key file {str(self.path)!r} can be read by others (mode "
                f"{stat.S_IMODE(mode):o}); enter chmod 600."
            )

    def _overwrite(self, start: int, content: bytes) -> None:
        try:
            with self._opened(os.O_WRONLY) as file:
                _write_all(file, content, start)
                os.fdatasync(file)
        except OSError as failure:
            raise RunFailed(
                f"Key file {str(self.path)!r} cannot be written: {reason(failure)}; nothing was "
                "sent."
            ) from failure

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            file = os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as failure:
            raise InputError(
                f"Key file {str(self.path)!r} cannot be opened: {reason(failure)}; put it back, "
                f"or {self._remedy}."
            ) from failure
        try:
            yield file
        finally:
            os.close(file)


def _written(place: _Place) -> bytes:
    head = HEAD.pack(place.number, place.view, place.round, len(place.material))
    content = head + b"".join(place.material)
    return content + _check(content)


def _parsed(content: bytes) -> _Place | None:
    """What a place holds, if all of it is as it was written."""
    count, view, round, keys = HEAD.unpack_from(content)
    end = HEAD.size + keys * KEY
    if not count or end + CHECK > len(content):
        return None
    check, rest = content[end : end + CHECK], content[end + CHECK :]
    if check != _check(content[:end]) or rest.strip(b"\0"):
        return None
    starts = range(HEAD.size, end, KEY)
    return _Place(count, view, round, tuple(content[k : k + KEY] for k in starts))


def _check(content: bytes) -> bytes:
    return hashlib.sha256(DOMAIN + content).digest()


def _write_all(file: int, content: bytes, start: int) -> None:
    view = memoryview(content)
    while view:
        done = os.pwrite(file, view, start)
        view, start = view[done:], start + done
