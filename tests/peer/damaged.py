"""Documents that are not as they should be, and what must come of them."""

from __future__ import annotations

import copy
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.records import Json, JsonObject

Document = TypeVar("Document")
LONGEST = 300
"""Characters of a sentence."""

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=70)
numbers = st.floats() | st.integers(-(2**70), 2**70)
values = st.recursive(
    st.booleans() | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)


def read(parse: Callable[[bytes], Document], content: bytes) -> Document | None:
    """The document, or None where it is refused in one sentence; anything else is a failure."""
    try:
        return parse(content)
    except InputError as failure:
        said = str(failure)
        assert said.endswith(".") and "\n" not in said, said
        assert said.isprintable() and len(said) <= LONGEST, said
        return None


def peak(parse: Callable[[bytes], object], content: bytes) -> int:
    """The most bytes of memory that reading takes at any time."""
    read(parse, content)  # what is imported and cached is not counted
    tracemalloc.start()
    try:
        read(parse, content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@st.composite
def broken_text(draw: st.DrawFn, content: bytes) -> bytes:
    """The document with some bytes replaced, removed or doubled, and some put in."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(found)))
        length = draw(st.integers(0, 40))
        found[start : start + length] = draw(st.binary(max_size=20))
    return bytes(found)


@st.composite
def broken_table(draw: st.DrawFn, table: JsonObject) -> JsonObject:
    """The table with one value replaced, removed, or added, however deep."""
    found = copy.deepcopy(table)
    inside = draw(st.sampled_from(_tables(found)))
    name = draw(st.sampled_from(sorted(inside)) | texts) if inside else draw(texts)
    if name in inside and draw(st.booleans()):
        del inside[name]
    else:
        inside[name] = draw(values)
    return found


def _tables(value: Json) -> list[JsonObject]:
    """All tables in a value."""
    if isinstance(value, dict):
        return [value, *(one for inner in value.values() for one in _tables(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in _tables(inner)]
    return []
