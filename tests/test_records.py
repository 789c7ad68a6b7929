"""Records come back from JSON as they were; what is not a record is refused with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.records import Json, Record, absent, key, others


@final
@dataclass(frozen=True)
class Inner(Record):
    n: int
    epsilon: Epsilon = UNKNOWN


@final
@dataclass(frozen=True)
class Outer(Record):
    FORMAT = 2

    x: float
    name: str
    flag: bool
    inner: Inner
    kind: Literal["a", "b"]
    rows: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (0, "")
    by_name: Mapping[str, float | None] = key("by-name", default_factory=dict)
    note: str | None = absent()
    either: float | str | None = None
    anything: Json = None
    more: Mapping[str, float] = others()


FULL = Outer(
    0.5,
    "n",
    True,
    Inner(3, UNBOUNDED),
    "b",
    rows=(Inner(1, Epsilon(2.0)), Inner(2)),
    pair=(1, "one"),
    by_name={"a": None, "b": 1.0},
    note="said",
    either="word",
    anything={"deep": [1, None]},
    more={"cosine": 0.25},
)


@pytest.mark.parametrize(
    "record", [FULL, Outer(1.0, "", False, Inner(0), "a")], ids=["full", "defaults"]
)
def test_a_record_comes_back_as_it_was(record: Outer) -> None:
    assert Outer.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_keys_are_those_of_the_fields() -> None:
    found = FULL.to_json()
    assert found["by-name"] == {"a": None, "b": 1.0}
    assert found["cosine"] == 0.25
    assert found["inner"] == {"n": 3, "epsilon": "unbounded"}
    assert found["format"] == 2
    assert "note" not in Outer(1.0, "", False, Inner(0), "a").to_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": "1"}, "file.x must be a number, not '1'"),
        ({"x": True}, "file.x must be a number, not True"),
        ({"x": float("nan")}, "file.x must be a number, not nan"),
        ({"x": 10**400}, "file.x must be a number, not a huge number"),
        ({"name": None}, "file.name must be a text"),
        ({"flag": 1}, "file.flag must be true or false, not 1"),
        ({"inner": []}, "file.inner must be an object"),
        ({"inner": {"n": 1.5}}, "file.inner.n must be a whole number, not 1.5"),
        ({"inner": {"n": True}}, "file.inner.n must be a whole number, not True"),
        ({"inner": {"n": 1, "epsilon": "?"}}, "file.inner.epsilon must be a number"),
        ({"inner": {"n": 1, "epsilon": -1}}, "epsilon must be a number from 0 on"),
        ({"kind": "c"}, "file.kind must be 'a' or 'b', not 'c'"),
        ({"rows": {}}, "file.rows must be a list"),
        ({"rows": [{"n": 1}, {}]}, r"file.rows\[1\] has no 'n'"),
        ({"pair": [1]}, "file.pair must be a list of 2"),
        ({"by-name": {"a": "b"}}, "file.by-name.a must be a number"),
        ({"by-name": 3}, "file.by-name must be an object"),
        ({"more": "no number"}, "file.more must be a number"),
        ({"either": []}, "file.either must be a text"),
        ({"format": 3}, "format 3; this version of dpdl reads formats up to 2"),
        ({"format": "x"}, "format 'x'"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Json], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Outer.from_json(FULL.to_json() | change, "file")


def test_a_missing_field_is_named() -> None:
    content = FULL.to_json()
    del content["name"]
    with pytest.raises(InputError, match="Outer has no 'name'"):
        Outer.from_json(content)


def test_a_file_without_a_format_is_of_the_first() -> None:
    content = FULL.to_json()
    del content["format"]
    assert Outer.from_json(content) == FULL


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
NAMES = st.sampled_from(["x", "name", "flag", "inner", "n", "kind", "rows", "format"])
ANYTHING = st.recursive(
    PLAIN, lambda one: st.lists(one) | st.dictionaries(NAMES, one, max_size=8)
)


@given(ANYTHING)
def test_any_content_is_read_or_refused_in_one_sentence(content: Json) -> None:
    said = ""
    try:
        Outer.from_json(content)
    except InputError as error:
        said = str(error)
    assert len(said) < 300


@dataclass(frozen=True)
class Scores(Record):
    of: tuple[float, ...]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([], ()),
        ([0.5, -0.0, 1e308], (0.5, -0.0, 1e308)),
        ([1, 0.5], (1.0, 0.5)),
        ([2, 3], (2.0, 3.0)),
        ([0.5, math.inf], (0.5, math.inf)),
    ],
    ids=str,
)
def test_many_numbers_are_read_as_one_by_one(given: list, read: tuple) -> None:
    found = Scores.from_json({"of": given}).of
    assert found == read and all(type(one) is float for one in found)


@pytest.mark.parametrize("wrong", [math.nan, True, "1", None, [1.0]], ids=str)
def test_the_one_that_is_no_number_is_named(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^of\[1\] must be a number"):
        Scores.from_json({"of": [0.5, wrong, 0.25]})
