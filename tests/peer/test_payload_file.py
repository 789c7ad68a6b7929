"""Pieces of a file are used again, and never while a row speaks of them."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpdl.peer.payload_file import BLOCK, PayloadFile, Piece


@pytest.fixture
def file(tmp_path: Path) -> PayloadFile:
    return PayloadFile(tmp_path / "payloads")


def test_what_was_added_is_read(file: PayloadFile) -> None:
    payloads = [b"a" * 10_000, bytearray(b"b" * 3), memoryview(b"c" * BLOCK)]
    pieces = file.add(payloads)
    assert [file.read(piece) for piece in pieces] == payloads
    assert [piece.start % BLOCK for piece in pieces] == [0, 0, 0]
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_file_is_used_in_turn_and_stops_growing(file: PayloadFile) -> None:
    """Two rounds are kept; the third is written where the first was."""
    rounds: list[list[Piece]] = []
    sizes = []
    for t in range(30):
        rounds.append(file.add([bytes([t]) * 9000] * 3))
        if len(rounds) > 2:
            file.release(rounds.pop(0))
        sizes.append(file.path.stat().st_size)
    assert len(set(sizes[2:])) == 1
    assert (
        sizes[-1] == 9 * 3 * BLOCK
    )  # three rounds: the third is added before one goes
    for t, pieces in zip((28, 29), rounds, strict=True):
        assert [file.read(piece) for piece in pieces] == [bytes([t]) * 9000] * 3


def test_pieces_in_use_stay_as_they_are(file: PayloadFile) -> None:
    """Against a dictionary, over sizes of all kinds."""
    draw = random.Random(1)
    alive: dict[Piece, bytes] = {}
    for _ in range(150):
        if alive and draw.random() < 0.5:
            gone = draw.sample(sorted(alive), draw.randint(1, len(alive)))
            file.release(gone)
            alive = {piece: some for piece, some in alive.items() if piece not in gone}
        new = [draw.randbytes(draw.randint(1, 5 * BLOCK)) for _ in range(3)]
        alive |= dict(zip(file.add(new), new, strict=True))
        assert all(file.read(piece) == some for piece, some in alive.items())
    assert file.path.stat().st_size < 400 * BLOCK


def test_a_reopened_file_spares_the_pieces_in_use(file: PayloadFile) -> None:
    first, second, third = file.add([b"1" * 100, b"2" * 100, b"3" * 100])
    again = PayloadFile(file.path, [first, third])
    (piece,) = again.add([b"4" * 100])
    assert piece == second
    (beyond,) = again.add([b"5" * 100])
    assert beyond.start >= third.end
    assert again.read(first) + again.read(third) == b"1" * 100 + b"3" * 100


def test_a_gap_that_is_too_small_is_left_alone(file: PayloadFile) -> None:
    _, second, third = file.add([b"1", b"2", b"3" * 10_000])
    file.release([second])
    (large,) = file.add([b"4" * (BLOCK + 1)])
    assert large.start == third.end
    (small,) = file.add([b"5" * BLOCK])
    assert small.start == second.start


def test_nothing_is_written_while_somebody_reads(file: PayloadFile) -> None:
    pieces = file.add([b"old" * 5000])
    file.release(pieces)
    with ThreadPoolExecutor(1) as pool:
        with file.lock:
            adding = pool.submit(file.add, [b"new" * 5000])
            assert not wait([adding], 0.2).done
            assert file.read(pieces[0]) == b"old" * 5000
        assert adding.result(10) == pieces
    assert file.read(pieces[0]) == b"new" * 5000


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What this process may write, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_what_does_not_fit_takes_no_piece(file: PayloadFile) -> None:
    (first,) = file.add([b"1" * BLOCK])
    with files_of_at_most(3 * BLOCK):
        with pytest.raises(OSError, match="File too large"):
            file.add([b"2" * BLOCK, b"3" * 2 * BLOCK])
        assert file.add([b"4" * BLOCK]) == [Piece(BLOCK, BLOCK)]
    assert file.read(first) == b"1" * BLOCK


def test_a_file_that_was_cut_off_gives_fewer_bytes(file: PayloadFile) -> None:
    (piece,) = file.add([b"1" * 100])
    os.truncate(file.path, 40)
    assert file.read(piece) == b"1" * 40
    assert file.read(Piece(0, 1 << 60)) == b"1" * 40
    assert file.read(Piece(BLOCK, 1 << 60)) == b""
