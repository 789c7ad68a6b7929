"""TensorBoard event files, written without TensorBoard.

A file is a row of TFRecord frames: length, checksum of the length, data, checksum of the data. The
data are `Event` messages in the wire format of Protocol Buffers. We need these fields only:

    Event            wall_time = 1 (double), step = 2 (int64), file_version = 3, summary = 5,
                     session_log = 7
    Summary          value = 1, repeated
    Summary.Value    tag = 1, simple_value = 2 (float)
    SessionLog       status = 1 (1: start)

A start at step t makes TensorBoard forget what earlier files have of step t and later ones.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dpdl.foreign import read_bytes

VERSION = b"brain.Event:2"
CASTAGNOLI = 0x82F63B78


class EventLog:
    """The event files of a run in one folder; whoever goes on with a run goes on in a new file."""

    def __init__(self, folder: Path, began: float) -> None:
        """`began` is when the run began, in seconds since 1970; times count from there."""
        self._folder = folder
        self._began = began
        self._file: Path | None = None

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Append evaluated rounds.

        Those at the front that the folder has already are not written again.
        """
        events = [self._event(row) for row in rows]
        if self._file is None:
            known = {event for path in _files(self._folder) for event in records(path)}
            there = sum(1 for _ in itertools.takewhile(known.__contains__, events))
            rows, events = rows[there:], events[there:]
            if not events:
                return
            self._file = _new_file(self._folder)
            events = [*self._opening(rows[0]), *events]
        with self._file.open("ab") as file:
            file.write(b"".join(map(frame, events)))

    def _event(self, row: Mapping[str, float]) -> bytes:
        values = b"".join(
            _field(1, _value(tag, number))
            for tag, number in row.items()
            if tag != "round"
        )
        return self._stamp(row) + _field(5, values)

    def _opening(self, row: Mapping[str, float]) -> list[bytes]:
        version = b"\x09" + struct.pack("<d", self._began) + _field(3, VERSION)
        return [version, self._stamp(row) + _field(7, b"\x08\x01")]

    def _stamp(self, row: Mapping[str, float]) -> bytes:
        return (
            b"\x09"
            + struct.pack("<d", self._began + row["seconds"])
            + b"\x10"
            + _varint(int(row["round"]))
        )


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*tfevents*"))


def _new_file(folder: Path) -> Path:
    """TensorBoard reads the files of a folder in the order of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = itertools.count(len(_files(folder)) + 1)
    names = (folder / f"events.out.tfevents.{number:06d}" for number in numbers)
    return next(path for path in names if not path.exists())


# -------------------------------------------------------------------- messages
def _value(tag: str, number: float) -> bytes:
    """A number beyond the range of 32 bits becomes infinite."""
    try:
        single = struct.pack("<f", number)
    except OverflowError:
        single = struct.pack("<f", math.copysign(math.inf, number))
    return _field(1, tag.encode()) + b"\x15" + single


def _field(number: int, content: bytes) -> bytes:
    """A field that says how long it is."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Seven bits at a time, the lowest first; the high bit says that more follow."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


# ---------------------------------------------------------------------- frames
def frame(data: bytes) -> bytes:
    """One TFRecord."""
    size = struct.pack("<Q", len(data))
    return size + _checksum(size) + data + _checksum(data)


def records(path: Path) -> Iterator[bytes]:
    """The data of all frames of a file; one that a crash cut off is left out."""
    content, start = read_bytes(path), 0
    while start + 8 <= len(content):
        (size,) = struct.unpack_from("<Q", content, start)
        if start + size + 16 <= len(content):
            yield content[start + 12 : start + 12 + size]
        start += size + 16


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """The cyclic redundancy check with Castagnoli's polynomial, a byte at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)
    return byte


TABLE = [_remainder(byte) for byte in range(256)]
