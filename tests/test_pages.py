"""What the pages of the documentation promise their readers."""

from __future__ import annotations

import re

import pytest

import dpdl
from tests.documents import HOME

DOCS = HOME / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
NUMBER = re.compile(r"^\**-?[\d,]*\.\d+(e-?\d+)?( ?(%|s|MB|µs|ns|ms))?\**( ✗)?$")
MADE = re.compile(
    r"\bdpdl (attack|audit|bench|compare|data|graph|privacy|reproduce|run|theory|tune)\b"
    r"|\bpython (-m|tools/)|\bmake run\b|examples/|from dpdl|dpdl\.[a-z.]+\("
)
"""A command, or a call, that makes numbers."""
A_FEW = 4
"""Numbers with a decimal point that make a table one of measurements."""


def sections(page: str) -> list[str]:
    """The parts of a page, by headings of the second level; what is before them, too."""
    return re.split(r"(?m)^(?=## )", (DOCS / page).read_text("utf-8"))


def tables(section: str) -> list[str]:
    return re.findall(r"(?m)(?:^\|.*\n)+", section)


def numbers(table: str) -> int:
    """How many cells of a table are measured or computed numbers."""
    _, _, *rows = table.splitlines()
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    return sum(bool(NUMBER.match(cell)) for cell in cells)


def code(section: str) -> str:
    """All that is set as code."""
    blocks = re.findall(r"(?ms)^```.*?^```|^    \S.*?$|`[^`\n]+`", section)
    return "\n".join(blocks)


def unexplained(page: str) -> list[str]:
    """The first lines of tables with numbers, in sections that do not say what made them."""
    return [
        table.splitlines()[0]
        for section in sections(page)
        for table in tables(section)
        if numbers(table) >= A_FEW and not MADE.search(code(section))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_numbers_stand_beside_the_command_that_made_them(page):
    assert unexplained(page) == []


def test_there_are_such_tables():
    """The rule is about something: the pages have tables of numbers."""
    found = [t for page in PAGES for s in sections(page) for t in tables(s)]
    assert sum(numbers(table) >= A_FEW for table in found) > 30


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_it_is_about_before_its_first_section(page):
    """A sentence or more between the title and the first heading, table or code."""
    text = re.sub(
        r"\A---\n.*?\n---\n", "", (DOCS / page).read_text("utf-8"), flags=re.S
    )
    title, _, rest = text.strip().partition("\n")
    first = rest.strip().split("\n\n")[0]
    assert title.startswith("# ")
    assert re.match(r"[A-Z`*\[]", first), first
    assert len(first) > 40


def test_the_reference_has_every_public_name():
    """What `dpdl` offers is a directive of its page, or a page of its own."""
    page = (DOCS / "reference" / "index.md").read_text("utf-8")
    shown = set(re.findall(r"(?m)^::: dpdl\.(\w+)$", page))
    pages = {name for name in dpdl.__all__ if f"reference/{name}.md" in PAGES}
    assert shown | pages | {"__version__"} == set(dpdl.__all__)
