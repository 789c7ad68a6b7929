"""Large payloads: one file whose pieces are used again in turn.

In the database, a payload of some megabytes would be written twice, to its log and to its pages;
here it is written once, to a piece of a file that has its size already. The database says which
pieces are in use. A piece is written only while no durable row speaks of it, and a row becomes
durable only after its piece has: whatever a crash interrupts, every row finds its bytes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, final

from dpdl.peer.frame import Payload

LARGE = 1 << 20
"""Payloads of more bytes are in the file, others in the database."""
BLOCK = 4096


class Piece(NamedTuple):
    """A part of the file."""

    start: int
    length: int

    @property
    def end(self) -> int:
        """The block after its last."""
        return self.start + -(-self.length // BLOCK) * BLOCK


@final
class PayloadFile:
    """The file, and which pieces of it are in use.

    One thread writes; others may read. While `lock` is held nothing is overwritten, so that a
    reader can look up a piece and read it as one.
    """

    def __init__(self, path: Path, used: Iterable[Piece] = ()) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._used = set(used)

    def add(self, payloads: Sequence[Payload]) -> list[Piece]:
        """Write payloads to free pieces; they are durable when this returns, by one fdatasync.

        The pieces are in use from now on, until `release`. An OSError, such as that of a full disk,
        leaves the file as it was for every reader.
        """
        pieces = [self._reserve(len(payload)) for payload in payloads]
        try:
            self._write(pieces, payloads)
        except BaseException:
            self.release(pieces)
            raise
        return pieces

    def release(self, pieces: Iterable[Piece]) -> None:
        """No durable row speaks of these any more: they may be overwritten."""
        self._used.difference_update(pieces)

    def read(self, piece: Piece) -> bytes:
        """The bytes of a piece; fewer where the file has been cut off."""
        file = os.open(self.path, os.O_RDONLY)
        try:
            there = max(os.fstat(file).st_size - piece.start, 0)
            return os.pread(file, min(piece.length, there), piece.start)
        finally:
            os.close(file)

    def _reserve(self, length: int) -> Piece:
        """The first gap that is wide enough, or the end."""
        start = 0
        for used in sorted(self._used):
            if Piece(start, length).end <= used.start:
                break
            start = max(start, used.end)
        piece = Piece(start, length)
        self._used.add(piece)
        return piece

    def _write(self, pieces: Sequence[Piece], payloads: Sequence[Payload]) -> None:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = max((piece.end for piece in pieces), default=0)
            if os.fstat(file).st_size < end:
                os.posix_fallocate(file, 0, end)  # a full disk is found out here
            for piece, payload in zip(pieces, payloads, strict=True):
                with self.lock:
                    _write_all(file, payload, piece.start)
            os.fdatasync(file)
        finally:
            os.close(file)


def _write_all(file: int, payload: Payload, start: int) -> None:
    view = memoryview(payload)
    while view:
        done = os.pwrite(file, view, start)
        view, start = view[done:], start + done
