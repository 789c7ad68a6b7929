"""One page that needs nobody else, and says what the numbers say."""

from __future__ import annotations

from pathlib import Path

from dpdl.pages.page import (
    Number,
    Section,
    bullets,
    facts,
    heading,
    highlighted,
    live_table,
    page,
    paragraphs,
    private,
    public,
    small_picture,
    table,
    wide_picture,
)
from tests.pages.parsing import PNG, parsed


def test_what_is_written_is_escaped_and_nothing_is_asked_of_others() -> None:
    evil = "<script>alert('x')</script> & \"y\""
    parts = [
        paragraphs(evil),
        highlighted(evil),
        bullets([evil]),
        heading(evil),
        facts({evil: evil}),
    ]
    parts += [table([evil], [[evil]], evil)]
    text = page(
        evil,
        evil,
        [
            Section("one", evil, [public(*parts), private(evil, *parts)]),
            Section("two", "Two", []),
        ],
        evil,
    )
    assert "<script" not in text
    found = parsed(text)
    assert found.links == ["#one", "#two"] and found.ids == ["one", "two"]
    assert "default-src 'none'" in text and '<html lang="en">' in text
    live = page(
        "x",
        "x",
        [
            Section(
                "one",
                "One",
                [public(live_table([evil, "n"], [[evil, Number(evil, 1.0)]], evil))],
            )
        ],
        "x",
    )
    assert live.count("<script") == 1 and "alert('x')</script>" not in live
    parsed(live)


def test_sections_of_the_same_name_have_links_of_their_own() -> None:
    found = parsed(page("x", "x", [Section("one", "One", [])] * 3, "x"))
    assert found.links == ["#one", "#one.2", "#one.3"] and found.ids == [
        "one",
        "one.2",
        "one.3",
    ]


def test_a_live_table_is_complete_without_its_script() -> None:
    rows = [
        ["ring", Number("+1.50", 1.5, "above-1")],
        ["a" * 31, Number("unbounded", float("inf"))],
    ]
    html = live_table(["graph", "difference"], rows, "Cells.")
    assert (
        '<th scope="col" class="word">graph</th><th scope="col">difference</th>' in html
    )
    assert (
        '<td class="word">ring</td><td class="above-1" data-value="1.5">+1.50</td>'
        in html
    )
    assert (
        f'<td class="word long">{"a" * 31}</td><td data-value="Infinity">unbounded</td>'
        in html
    )
    assert 'data-value="-Infinity"' in live_table(
        ["n"], [[Number("unknown", float("-inf"))]], "Cells."
    )
    assert "<button" not in html and "<input" not in html, (
        "what does nothing without the script comes with it"
    )


def test_only_what_may_scroll_can_be_focused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    wide, small = (
        draw(tmp_path / "x.png", "words", "Caption.")
        for draw in (wide_picture, small_picture)
    )
    assert 'tabindex="0"' in wide and 'class="wide small"' in small
    for html in (wide, small):
        assert 'alt="words"' in html and "<figcaption>Caption." in html
