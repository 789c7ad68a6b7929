"""A line of the log that was changed, taken out, put in or moved is found."""

from __future__ import annotations

import hashlib

import pytest

from dpdl.peer.events import (
    BURST,
    LONGEST,
    PAUSE,
    Event,
    Throttle,
    first_broken,
    first_hash,
    following,
)

RUN = "5e" * 32


def log(count: int) -> list[Event]:
    found: list[Event] = []
    before = first_hash(RUN)
    for number in range(1, count + 1):
        found.append(
            following(before, number, f"2031-01-0{number}", "start", f'ü"{number}')
        )
        before = found[-1].hash
    return found


def test_a_log_as_it_was_written_is_whole() -> None:
    assert first_broken(RUN, log(6)) is None
    assert first_broken(RUN, []) is None


def test_a_hash_is_over_the_one_before_and_the_line() -> None:
    root = hashlib.sha256(b"dpdl-events-1\0" + RUN.encode()).digest()
    line = b'[1,"2031-01-01","start","\\u00fc\\"1"]'
    assert log(1)[0].hash == hashlib.sha256(root + line).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"number": 9},
        {"time": "2030-01-01"},
        {"kind": "stop"},
        {"text": "other"},
        {"hash": "00" * 32},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_line_is_named(change) -> None:
    for k in range(6):
        lines = log(6)
        lines[k] = lines[k]._replace(**change)
        assert first_broken(RUN, lines) == k + 1


def test_a_line_that_is_gone_or_moved_or_new_is_named() -> None:
    lines = log(6)
    assert first_broken(RUN, [*lines[:2], *lines[3:]]) == 3
    assert first_broken(RUN, [*lines[:2], lines[3], lines[2], *lines[4:]]) == 3
    assert first_broken(RUN, [*lines[:2], lines[1], *lines[2:]]) == 3


def test_a_line_that_was_chained_anew_breaks_the_next() -> None:
    lines = log(6)
    number, time, kind, _, _ = lines[2]
    lines[2] = following(lines[1].hash, number, time, kind, "nothing happened")
    assert first_broken(RUN, lines) == 4


def test_the_log_of_another_run_is_none_of_this() -> None:
    assert first_broken("00" * 32, log(2)) == 1


def test_a_line_has_an_end() -> None:
    event = following(first_hash(RUN), 1, "now", "refused", "x" * 10 * LONGEST)
    assert len(event.text) == LONGEST
    assert first_broken(RUN, [event]) is None


def test_a_flood_is_written_down_in_part() -> None:
    """And how much of it was left out, as soon as there is room again."""
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    admitted = [throttle.admit("refused") for _ in range(1000)]
    assert admitted == [0] * BURST + [None] * (1000 - BURST)
    assert throttle.admit("start") == 0
    now[0] += PAUSE
    assert throttle.admit("refused") == 1000 - BURST
    assert throttle.admit("refused") is None
    now[0] += 0.6 * PAUSE
    assert throttle.admit("refused") is None
    now[0] += 0.6 * PAUSE
    assert throttle.admit("refused") == 2


def test_after_a_long_silence_there_is_room_for_a_flood_again() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    for _ in range(2):
        assert [throttle.admit("refused") for _ in range(BURST)] == [0] * BURST
        assert throttle.admit("other") == 0
        now[0] += 10 * BURST * PAUSE
