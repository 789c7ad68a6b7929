"""A document is exactly one record; what is missing, unknown or wrong in it is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, final

import pytest
from hypothesis import given, settings

from dpdl.errors import InputError
from dpdl.peer.documents import differing_fields, read_file, record_of, table_of
from dpdl.records import JsonObject, Record, absent
from tests.peer import damaged


@final
@dataclass(frozen=True)
class Inner(Record):
    """Within another."""

    count: int
    note: str | None = absent()


@final
@dataclass(frozen=True)
class Paper(Record):
    """Some document."""

    FORMAT: ClassVar[int | None] = 1

    name: str
    inner: tuple[Inner, ...]
    rate: float = 0.5
    sizes: Mapping[str, int] = field(default_factory=dict)


TABLE: JsonObject = {
    "format": 1,
    "name": "a",
    "inner": [{"count": 1}, {"count": 2, "note": "x"}],
    "rate": 1,
    "sizes": {"a": 1},
}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(bytes(11))
    assert read_file(tmp_path / "long", 11) == bytes(11)
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputError, match=f"File '{path}' cannot be read: "):
            read_file(path)
    with pytest.raises(InputError, match="long"):
        read_file(tmp_path / "long", 10)


def test_a_table_is_the_record() -> None:
    found = record_of(Paper, TABLE, "paper")
    assert found == Paper("a", (Inner(1), Inner(2, "x")), 1.0, {"a": 1})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": None}, "paper has no 'name'"),
        ({"format": None}, "paper has no 'format'"),
        ({"rate": None}, "paper has no 'rate'"),
        ({"more": 1}, "paper has an unknown field 'more'"),
        ({"inner": [{"count": 1, "x": 1}]}, r"unknown field 'inner\[0\]\.x'"),
        ({"inner": [{}]}, r"paper\.inner\[0\] has no 'count'"),
        ({"name": 3}, r"paper\.name must be a text, not 3"),
        ({"format": 2}, "paper is of format 2"),
        ({"x" * 5000: 1}, "unknown field 'xxx"),
        ({"sizes": {"x" * 5000: "y"}}, r"paper\.sizes\.xx.*xx must be a whole number"),
        ({"sizes": {"\n\x1b": "y"}}, r"paper\.sizes.* must be a whole number"),
    ],
)
def test_what_is_not_the_record_is_named(change: JsonObject, said: str) -> None:
    table = {**TABLE, **change}
    table = {name: value for name, value in table.items() if value is not None}
    with pytest.raises(InputError, match=said) as failure:
        record_of(Paper, table, "paper")
    assert len(str(failure.value)) <= 300 and str(failure.value).isprintable()


@settings(max_examples=200, deadline=None)
@given(damaged.broken_table(TABLE))
def test_no_table_breaks_the_reader(table: JsonObject) -> None:
    found = damaged.read(lambda _: record_of(Paper, table, "paper"), b"")
    assert found is None or found.to_json() == table


def test_a_document_has_a_largest_size() -> None:
    assert table_of(b"a = 1", "paper", 5) == {"a": 1}
    with pytest.raises(InputError, match="paper has more than 4 bytes"):
        table_of(b"a = 1", "paper", 4)


def test_differences_have_names_with_dots() -> None:
    a: JsonObject = {"x": {"y": 1, "z": [1, 2]}, "w": 1}
    b: JsonObject = {"x": {"y": 2, "z": [1, 3]}, "v": 1}
    assert differing_fields(a, b) == ["x.y", "x.z[1]", "w", "v"]
    assert differing_fields({"x": [1]}, {"x": [1, 2]}) == ["x"]
    assert differing_fields(a, a) == []
