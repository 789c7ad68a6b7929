"""Foreign text is safe to show, and never long."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl import text
from dpdl.text import (
    SENTENCE,
    VALUE,
    for_page,
    listed,
    plain,
    sentence,
    shortened,
    shown,
)

ANY = st.text(st.characters(codec=None), max_size=500)


def test_what_a_terminal_acts_upon_is_an_escape() -> None:
    assert plain("a\x1b[31mb\u202e\x00") == "a\\x1b[31mb\\u202e\\x00"


def test_what_cannot_be_encoded_is_an_escape() -> None:
    assert plain("a\udcffb") == "a\\udcffb"


def test_letters_spaces_and_ends_of_lines_stay() -> None:
    text = "épsilon ≤ 8\n\tσ\u00a0= 1"
    assert plain(text) == text


@given(ANY)
def test_every_text_can_be_encoded_after_it(text: str) -> None:
    found = plain(text)
    found.encode()
    assert "\x1b" not in found
    assert plain(found) == found


@given(ANY)
def test_a_sentence_is_one_short_line(text: str) -> None:
    found = sentence(text)
    assert len(found) <= SENTENCE
    assert "\n" not in found


def test_a_long_sentence_keeps_what_it_is_about_and_the_reason() -> None:
    found = sentence(f"File {'a' * 5000!r} is damaged: it holds no JSON object.")
    assert found.startswith("File 'aaa")
    assert found.endswith("is damaged: it holds no JSON object.")
    assert len(found) == SENTENCE


def test_a_text_that_fits_is_not_shortened() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdefghijkl", 9) == "abc...jkl"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.5, "3.5"),
        ("a\x1b", "'a\\x1b'"),
        (10**4000, "a huge number"),
        ([1, 16**5000], "a list"),
    ],
    ids=["number", "text", "huge", "huge within"],
)
def test_a_value_is_shown_as_it_is_written(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_long_value_is_cut() -> None:
    assert len(shown("x" * 10**6)) == VALUE


def test_a_deep_value_is_named() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    assert shown(deep) == "a list"


def test_few_names_are_all_listed() -> None:
    assert listed(["ring", "star"]) == "ring, star"


def test_of_many_names_the_others_are_counted() -> None:
    found = listed([f"name{k}" for k in range(100)])
    assert found.startswith("name0, name1, ")
    assert found.endswith("more")
    assert len(found) < 170


# ------------------------------------------------------------------ pages
def test_a_name_on_a_page_is_neither_markup_nor_invisible() -> None:
    found = for_page("<b a='x\"'>\x1b[0m\x00\u202egnp.\x7f\x85\u200b&")
    assert found == (
        "&lt;b a=&#x27;x&quot;&#x27;&gt;\\x1b[0m\\x00\\u202egnp.\\x7f\\x85\\u200b&amp;"
    )


@given(ANY)
def test_a_text_for_a_page_can_be_shown_whatever_it_holds(text: str) -> None:
    found = for_page(text)
    found.encode()
    assert not set(found) & set("<>\"'\x00\x1b\x7f\x9b\u202e\u2066\u200b")
    assert plain(found) == found


def test_nobody_else_escapes_for_pages() -> None:
    source = Path(text.__file__).parent
    for path in source.rglob("*.py"):
        alone = path == Path(text.__file__)
        content = path.read_text("utf-8")
        assert alone or "html import escape" not in content, path
        assert alone or "html.escape" not in content, path
