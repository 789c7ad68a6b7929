"""Pages, as tests read them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

PNG = b"\x89PNG\r\n\x1a\n"


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order; pictures have words; no level of headings is left out."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.links += [str(facts[name]) for name in ("src", "href") if name in facts]
        self.ids += [str(facts["id"])] if "id" in facts else []
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "img":
            assert facts["alt"]
        if re.fullmatch("h[1-6]", tag):
            assert int(tag[1]) <= self.level + 1
            self.level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    """A page whose elements are in order."""
    found = Balanced()
    found.feed(text)
    assert found.open == []
    return found


def images(html: str) -> list[str]:
    """What is said to those who do not see the pictures."""
    return re.findall('<img alt="([^"]*)"', html)


def pictures(html: str) -> dict[str, str]:
    """The same words, and the picture in base64."""
    return dict(
        re.findall('<img alt="([^"]*)" src="data:image/png;base64,([^"]+)"', html)
    )
