"""A document says the same as text and as a page."""

from __future__ import annotations

from dpdl.report.document import (
    Alarm,
    Chapter,
    Document,
    Grid,
    Items,
    Words,
    as_html,
    as_text,
)
from tests.report.parsing import parsed


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
