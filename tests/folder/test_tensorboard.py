"""Event files are what TensorBoard's format says, read back by a reader that shares no code with the writer."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.folder.tensorboard import EventLog, crc32c, frame, records
from tests.reference import events as reference

BEGAN = 1_700_000_000.25


def row(t: int, seconds: float = 1.5, **numbers: float) -> dict[str, float]:
    return {"round": t, "accuracy/mean": t / 8, **numbers, "seconds": seconds}


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def steps(path: Path) -> list[int]:
    """The rounds whose values a file has."""
    return [event["step"] for event in reference.events(path) if "values" in event]


# ---------------------------------------------------------------- checksums and frames
@pytest.mark.parametrize("check", [crc32c, reference.crc32c])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_checksums_are_the_published_ones(check, data: bytes, expected: int) -> None:
    assert check(data) == expected


@given(st.binary(max_size=300))
def test_a_frame_is_read_back(data: bytes) -> None:
    assert reference.frames(frame(data)) == [data]
    assert crc32c(data) == reference.crc32c(data)


def test_a_frame_has_the_bytes_that_tensorflow_writes() -> None:
    """The first record of every event file of TensorFlow, with its time set to 0."""
    data = b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2"
    framed = frame(data)
    assert framed[:12] == b"\x18" + bytes(7) + b"\xa3\x7f\x4b\x22"
    assert framed[12:-4] == data


def test_records_are_those_of_the_frames_and_a_cut_one_is_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f"
    whole = frame(b"one") + frame(b"") + frame(b"three")
    path.write_bytes(whole)
    assert list(records(path)) == reference.frames(whole) == [b"one", b"", b"three"]
    for cut in range(1, 16 + len(b"three")):
        path.write_bytes(whole[:-cut])
        assert list(records(path)) == [b"one", b""]


# ---------------------------------------------------------------- events
def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "a" / "tb", BEGAN)
    numbers = {
        "negative": -0.1,
        "zero": 0.0,
        "bytes_sent": 47_980_080,
        "ü/µ": 1e-30,
        "x" * 300: 7.0,
    }
    log.add([row(1, 0.5, **numbers), row(20, 2.0)])
    log.add([row(300, 3.75)])
    (path,) = files(tmp_path / "a" / "tb")
    assert "tfevents" in path.name
    version, start, *values = reference.events(path)
    assert version == {"time": BEGAN, "step": 0, "version": "brain.Event:2"}
    assert start == {"time": BEGAN + 0.5, "step": 1, "session": {1: [1]}}
    single = {
        name: struct.unpack("<f", struct.pack("<f", value))[0]
        for name, value in numbers.items()
    }
    assert values == [
        {
            "time": BEGAN + 0.5,
            "step": 1,
            "values": {"accuracy/mean": 0.125, **single, "seconds": 0.5},
        },
        {
            "time": BEGAN + 2.0,
            "step": 20,
            "values": {"accuracy/mean": 2.5, "seconds": 2.0},
        },
        {
            "time": BEGAN + 3.75,
            "step": 300,
            "values": {"accuracy/mean": 37.5, "seconds": 3.75},
        },
    ]


@given(
    st.integers(1, 2**62), st.floats(allow_nan=False, allow_infinity=False, width=32)
)
def test_any_round_and_any_single_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, t: int, x: float
) -> None:
    folder = tmp_path_factory.mktemp("tb")
    EventLog(folder, BEGAN).add([{"round": t, "x": x, "seconds": 0.0}])
    event = reference.events(files(folder)[0])[-1]
    assert (event["step"], event["values"]["x"]) == (t, x)


def test_a_number_beyond_32_bits_becomes_infinite(tmp_path: Path) -> None:
    EventLog(tmp_path, BEGAN).add([row(1, huge=1e300, low=-1e300)])
    values = reference.events(files(tmp_path)[0])[-1]["values"]
    assert (values["huge"], values["low"]) == (math.inf, -math.inf)


def test_every_call_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    log = EventLog(tmp_path, BEGAN)
    for t in range(1, 5):
        log.add([row(t)])
        assert steps(files(tmp_path)[0]) == list(range(1, t + 1))


# ---------------------------------------------------------------- going on
def test_who_goes_on_writes_a_new_file_with_new_rounds_only(tmp_path: Path) -> None:
    EventLog(tmp_path, BEGAN).add([row(1), row(2)])
    before = files(tmp_path)[0].read_bytes()
    log = EventLog(tmp_path, BEGAN)
    log.add([row(1), row(2), row(3)])
    log.add([row(4)])
    first, second = files(tmp_path)
    assert first.read_bytes() == before
    assert steps(second) == [3, 4]
    version, start, *_ = reference.events(second)
    assert version["version"] == "brain.Event:2"
    assert (start["step"], start["session"]) == (3, {1: [1]})


def test_nothing_new_writes_no_file(tmp_path: Path) -> None:
    EventLog(tmp_path, BEGAN).add([row(1), row(2)])
    log = EventLog(tmp_path, BEGAN)
    log.add([row(1), row(2)])
    assert len(files(tmp_path)) == 1
    log.add([row(3)])
    assert steps(files(tmp_path)[1]) == [3]


def test_rounds_that_turned_out_otherwise_are_taken_back(tmp_path: Path) -> None:
    EventLog(tmp_path, BEGAN).add([row(1), row(4), row(6, 2.0), row(8, 2.5)])
    EventLog(tmp_path, BEGAN).add([row(1), row(4), row(6, 3.0)])
    second = reference.events(files(tmp_path)[1])
    assert [event["step"] for event in second[1:]] == [6, 6]
    assert "session" in second[1]


def test_what_follows_a_missing_round_is_written_again(tmp_path: Path) -> None:
    """The start that comes before it makes TensorBoard forget it."""
    EventLog(tmp_path, BEGAN).add([row(2), row(3)])
    EventLog(tmp_path, BEGAN).add([row(1), row(2), row(3)])
    assert steps(files(tmp_path)[1]) == [1, 2, 3]


def test_a_round_that_a_crash_cut_off_is_written_again(tmp_path: Path) -> None:
    EventLog(tmp_path, BEGAN).add([row(1), row(2)])
    path = files(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1])
    EventLog(tmp_path, BEGAN).add([row(1), row(2)])
    assert steps(files(tmp_path)[1]) == [2]


def test_files_sort_in_the_order_they_were_written_and_none_is_overwritten(
    tmp_path: Path,
) -> None:
    for t in range(1, 13):
        EventLog(tmp_path, BEGAN).add([row(k) for k in range(1, t + 1)])
    assert [steps(path) for path in files(tmp_path)] == [[t] for t in range(1, 13)]
    files(tmp_path)[3].unlink()
    EventLog(tmp_path, BEGAN).add([row(k) for k in range(1, 14)])
    assert steps(files(tmp_path)[-1]) == list(range(4, 14))
    assert steps(files(tmp_path)[-2]) == [12]
