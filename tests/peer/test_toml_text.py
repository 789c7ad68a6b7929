"""What is written as TOML is read as it was."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.peer.toml_text import dumps, flat
from dpdl.records import JsonObject

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
numbers = st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1)
plain = st.booleans() | numbers | texts
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=4)
        | st.lists(st.dictionaries(texts, inner, max_size=3), max_size=3)
    ),
    max_leaves=8,
)
tables = st.dictionaries(texts, values, max_size=5)


@settings(max_examples=150)
@given(tables)
def test_a_table_is_read_as_it_was_written(table: JsonObject) -> None:
    for text in (dumps(table), flat(table)):
        found = tomllib.loads(text)
        assert found == table
        assert exact(found) == exact(table)


def exact(value: object) -> str:
    """Types and the last bits as well: 1 is not 1.0, nor is 0.0 the same as -0.0."""
    if isinstance(value, dict):
        return repr(sorted((name, exact(one)) for name, one in value.items()))
    return repr([exact(one) for one in value] if isinstance(value, list) else value)


@settings(max_examples=50)
@given(tables)
def test_a_line_can_be_added_to_a_flat_text(table: JsonObject) -> None:
    text = flat(table) + 'the-last-one-of-all = "x"\n'
    assert tomllib.loads(text) == {**table, "the-last-one-of-all": "x"}


def test_every_character_below_space_and_the_delete_character_survive() -> None:
    text = "".join(map(chr, range(32))) + "\x7f\x80\x9f\u2028\ufeff\\\"'"
    assert tomllib.loads(dumps({text: text})) == {text: text}


def test_not_a_number_is_written_too() -> None:
    assert math.isnan(tomllib.loads(dumps({"a": math.nan}))["a"])


def test_it_looks_as_a_person_would_write_it() -> None:
    table = {
        "format": 1,
        "experiment": {"algorithm": "dpdl", "lr": 0.1},
        "member": [{"name": "mercy", "records": 4000}, {"name": "st-olav"}],
        "model": {"shapes": {"0.weight": [6, 1, 5, 5]}},
        "graph": {"weights": [[0, k, 0.25] for k in range(9)]},
    }
    assert dumps(table).startswith(
        "format = 1\n\n"
        '[experiment]\nalgorithm = "dpdl"\nlr = 0.1\n\n'
        '[[member]]\nname = "mercy"\nrecords = 4000\n\n'
        '[[member]]\nname = "st-olav"\n\n'
        '[model]\n\n[model.shapes]\n"0.weight" = [6, 1, 5, 5]\n\n'
        "[graph]\nweights = [\n    [0, 0, 0.25],\n    [0, 1, 0.25],\n"
    )


@pytest.mark.parametrize("value", [None, [None], {"a": None}, b"x", "\ud800"])
def test_what_has_no_toml_is_refused(value: object) -> None:
    for write in (dumps, flat):
        with pytest.raises(ValueError, match=r"no TOML|surrogates"):
            write({"a": value})
