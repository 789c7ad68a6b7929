"""A document says the same as text and as a page."""

from __future__ import annotations

from dpdl.pages.document import (
    Alarm,
    Chapter,
    Document,
    Grid,
    Items,
    Words,
    as_html,
    as_text,
)
from tests.pages.parsing import parsed


def test_text_and_page_have_the_same_words() -> None:
    grid = Grid(["a", "long"], [["x", "banana " * 40], ["y", "0" * 64]], "Caption.")
    chapters = [
        Chapter("one", "First", [Words("Some words."), Items(["item " * 30]), grid])
    ]
    document = Document("Title", "About.", [Alarm("Stop & read.")], chapters, "Foot.")
    text, html = as_text(document), as_html(document)
    parsed(html)
    for words in (
        "Title",
        "About.",
        "First",
        "Some words.",
        "Caption.",
        "Foot.",
        "0" * 64,
    ):
        assert words in text and words in html
    assert "!!! Stop & read." in text and "Stop &amp; read." in html
    assert max(map(len, text.splitlines())) <= 96
    assert text.count("banana") == html.count("banana") == 40, (
        "no word is lost in a broken cell"
    )


HOSTILE = "a\x1b[31mb\x00\x7f\u202ec\u2066d\u200b<script>"


def test_names_with_control_characters_are_escapes_in_both() -> None:
    grid = Grid([HOSTILE], [[HOSTILE]], HOSTILE)
    blocks = [Words(HOSTILE), Items([HOSTILE]), grid]
    alarms = [Alarm(HOSTILE)]
    document = Document(
        HOSTILE, HOSTILE, alarms, [Chapter("k", HOSTILE, blocks)], HOSTILE
    )
    text, html = as_text(document), as_html(document)
    for page in (text, html):
        assert not set(page) & set("\x1b\x00\x7f\u202e\u2066\u200b")
        assert "\\x1b[31mb\\x00\\x7f\\u202ec" in page
    assert "<script>" not in html.split("</head>")[1].split("<footer>")[0]
