"""Names, keys, addresses and times: what is spelt rightly, and what is refused by its field."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.peer import spelling

Check = Callable[[str, str], None]
RIGHT: list[tuple[Check, list[str]]] = [
    (spelling.check_name, ["a", "st-olav", "0", "x" * 40]),
    (spelling.check_hexadecimal, ["0" * 64, "0123456789abcdef" * 4]),
    (
        spelling.check_url,
        [
            "https://a",
            "https://mercy.example:8443",
            "https://10.0.0.1:1/",
            "https://[::1]:65535",
        ],
    ),
    (
        spelling.check_time,
        [
            "2030-06-01T12:00:00Z",
            "2030-06-01T12:00:00+02:00",
            "2030-12-31T23:59:59+00:00",
        ],
    ),
    (spelling.check_date, ["2030-06-01", "2028-02-29"]),
    (spelling.check_person, ["Ann Lee", "Søren Ångström", "x" * 120]),
]
WRONG: list[tuple[Check, list[str]]] = [
    (spelling.check_name, ["", "A", "a b", "a\n", "../a", "a.b", "x" * 41, "é", "٣"]),
    (spelling.check_hexadecimal, ["", "0" * 63, "0" * 65, "A" * 64, "0" * 63 + "\n"]),
    (
        spelling.check_url,
        [
            "",
            "http://a",
            "https://",
            "https://a:0",
            "https://a:65536",
            "https://a:x",
            "https://u@a",
            "https://u:p@a",
            "https://a/b",
            "https://a?b",
            "https://a#b",
            "https://a b",
            "https://a\n",
            "file:///etc/passwd",
            "https://é",
        ],
    ),
    (
        spelling.check_time,
        [
            "",
            "2030-06-01",
            "2030-06-01T12:00:00",
            "2030-13-01T12:00:00Z",
            "2030-06-01T25:00:00Z",
            "20300601T120000Z",
            "٢٠٣٠-06-01T12:00:00Z",
        ],
    ),
    (spelling.check_date, ["", "20300601", "2030-02-30", "2030-6-1", "soon"]),
    (spelling.check_person, ["", "  ", "a\nb", "x" * 121, "\x1b[31m"]),
]


@pytest.mark.parametrize(
    ("check", "text"), [(check, one) for check, texts in RIGHT for one in texts]
)
def test_what_is_right_passes(check: Check, text: str) -> None:
    check(text, "card.field")


@pytest.mark.parametrize(
    ("check", "text"), [(check, one) for check, texts in WRONG for one in texts]
)
def test_what_is_wrong_is_refused_by_its_field(check: Check, text: str) -> None:
    with pytest.raises(InputError, match=r"^card\.field must be "):
        check(text, "card.field")


@pytest.mark.parametrize("value", [0, 11, -(10**30), 10**4000])
def test_a_count_is_within_its_bounds(value: int) -> None:
    spelling.check_count(1, "a", 1, 10)
    spelling.check_count(10, "a", 1, 10)
    with pytest.raises(InputError, match="a must be a whole number from 1 to 10, not"):
        spelling.check_count(value, "a", 1, 10)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_positive_number_is_finite(value: float) -> None:
    spelling.check_positive(1e-300, "a")
    with pytest.raises(InputError, match="a must be a finite number above 0, not"):
        spelling.check_positive(value, "a")


def test_a_moment_is_written_in_utc() -> None:
    at = datetime(2030, 6, 1, 14, 0, 0, 999, timezone(timedelta(hours=2)))
    assert spelling.time_text(at) == "2030-06-01T12:00:00Z"
    now = datetime.fromisoformat(spelling.time_text())
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=10)


@given(st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1)))
def test_every_moment_is_spelt_as_a_time(at: datetime) -> None:
    spelling.check_time(spelling.time_text(at.replace(tzinfo=UTC)), "a")
