"""The page is one file whose policy lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import re

from dpdl.watch.page import served_page

PAGE = served_page()
HTML = PAGE.html.decode()


def test_style_and_script_are_inside_and_allowed_by_their_hashes() -> None:
    for kind in ("style", "script"):
        inside = re.findall(rf"<{kind}>(.*?)</{kind}>", HTML, re.DOTALL)
        assert len(inside) == 1
        assert len(inside[0]) > 4_000
        digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in PAGE.policy


def test_nothing_is_asked_of_others() -> None:
    assert PAGE.policy.startswith("default-src 'none'; ")
    assert "unsafe" not in PAGE.policy
    assert "connect-src 'self'" in PAGE.policy
    urls = set(re.findall(r"https?://[^\s\"'`)]+", HTML))
    assert urls == {"http://www.w3.org/2000/svg"}, "a name, never asked for"
    assert not re.search(r"<(?:link|img|iframe|object)\b|\bsrc=|@import|url\(h", HTML)


def test_no_text_of_a_file_becomes_markup() -> None:
    """Names of folders and words of files are set as text."""
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", HTML
    )


def test_there_is_a_word_for_those_without_script() -> None:
    assert "<noscript>" in HTML


def test_both_themes_have_the_same_colours() -> None:
    blocks = re.findall(r":root[^{]*\{ color-scheme: (\w+); ([^}]*)\}", HTML)
    kinds = [kind for kind, _ in blocks]
    assert kinds == ["light", "dark", "dark"]
    names = [re.findall(r"--([\w-]+):", text) for _, text in blocks]
    assert names[0] == names[1] == names[2]
