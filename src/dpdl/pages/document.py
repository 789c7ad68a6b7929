"""A document of typed parts, written once and shown as plain text or as an HTML page.

Both say the same.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from dpdl.pages.alarms import Alarm, alarm
from dpdl.pages.page import (
    Section,
    bullets,
    page,
    paragraphs,
    public,
    words_table,
)
from dpdl.text import plain

WIDTH = 96
"""Characters of a line of text."""


class Words(NamedTuple):
    """A paragraph."""

    text: str


class Items(NamedTuple):
    """A list."""

    texts: Sequence[str]


class Grid(NamedTuple):
    """A table of words."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str


Block = Alarm | Words | Items | Grid


class Chapter(NamedTuple):
    """Blocks under a title."""

    key: str
    title: str
    blocks: Sequence[Block]


class Document(NamedTuple):
    """Alarms stand above everything else."""

    title: str
    about: str
    alarms: Sequence[Alarm]
    chapters: Sequence[Chapter]
    foot: str


# ------------------------------------------------------------------ HTML
def as_html(document: Document) -> str:
    """One self-contained page."""
    sections = [
        Section(c.key, c.title, [public(*map(_html, c.blocks))])
        for c in document.chapters
    ]
    notice = "\n".join(map(_html, document.alarms))
    return page(document.title, document.about, sections, document.foot, notice)


def _html(block: Block) -> str:
    match block:
        case Alarm():
            return alarm(block)
        case Words(text):
            return paragraphs(text)
        case Items(texts):
            return bullets(texts)
        case Grid(head, rows, caption):
            return words_table(head, rows, caption)


# ------------------------------------------------------------------ text
def as_text(document: Document) -> str:
    """The same in lines of at most `WIDTH` characters, as far as words allow."""
    parts = [
        _underlined(document.title, "="),
        _wrapped(document.about),
        *map(_text, document.alarms),
    ]
    for number, chapter in enumerate(document.chapters, 1):
        parts += [
            _underlined(f"{number}. {chapter.title}", "-"),
            *map(_text, chapter.blocks),
        ]
    return plain("\n\n".join([*parts, document.foot])) + "\n"


def _underlined(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _text(block: Block) -> str:
    match block:
        case Alarm(text, _):
            return _wrapped(f"!!! {text}", "    ")
        case Words(text):
            return _wrapped(text)
        case Items(texts):
            return "\n".join(_wrapped(f"- {text}", "  ") for text in texts)
        case Grid(head, rows, caption):
            return f"{_columns(head, rows)}\n\n{_wrapped(caption)}"


def _wrapped(text: str, indent: str = "", width: int = WIDTH) -> str:
    return textwrap.fill(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; the widest ones give way until a line fits, but no word is broken."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        max(len(word) for cell in column for word in cell.split()) for column in columns
    ]
    while sum(widths) > WIDTH - 2 * (len(widths) - 1):
        wide = [k for k, width in enumerate(widths) if width > least[k]]
        if not wide:
            break
        widths[max(wide, key=lambda k: widths[k])] -= 1
    lines = [*_lines(head, widths), "  ".join("-" * width for width in widths)]
    for row in rows:
        lines += _lines(row, widths)
    return "\n".join(lines)


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [
        _wrapped(cell, width=width).split("\n")
        for cell, width in zip(row, widths, strict=True)
    ]
    lines = itertools.zip_longest(*cells, fillvalue="")
    return [
        "  ".join(
            f"{text:{width}}" for text, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]
