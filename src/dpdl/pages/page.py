"""One HTML page that opens anywhere.

Style, pictures and script are in it, and it asks nobody for anything.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dpdl.extras import PLOTS, is_installed, left_out
from dpdl.foreign import read_bytes
from dpdl.pages import live_curves
from dpdl.pages.alarms import Alarm, alarm
from dpdl.pages.line_keys import LineKey, line_key
from dpdl.pages.look import SCRIPT, STYLE
from dpdl.pages.unbroken import unbroken
from dpdl.text import for_page

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'"
)
LONG = 30
"""Characters on one line of a cell."""
MARK = '<div class="private"><p class="mark">Not covered by epsilon</p>'
LIVE = '<table class="live"'
BOX = '<div class="wide" role="region" tabindex="0" aria-label="{}">'


class PagePart(NamedTuple):
    """A piece of a section.

    A page for everybody has only what is marked as public: what nobody marked is left out.
    """

    html: str
    public: bool = False  # epsilon covers it, or it is about no record
    what: str = (
        "something that nobody marked as covered"  # of a private one: what it shows
    )
    setting: bool = False  # what a reader needs last: settings and versions


class Section(NamedTuple):
    """A part of the page: `key` is where links point to, and the title is for everybody."""

    key: str
    title: str
    parts: Sequence[PagePart]
    limits: Sequence[str] = ()  # how far epsilon covers what is public here: sentences
    beside: Sequence[str] = ()  # what is in the folder and not covered: sentences
    alarms: Sequence[Alarm] = ()  # why epsilon covers nothing of it, if so
    appendix: bool = False  # it belongs to the section before it

    @property
    def html(self) -> str:
        """All parts."""
        return "\n".join(part.html for part in self.parts)


def public(*html: str) -> PagePart:
    """What anybody may see."""
    return PagePart("\n".join(html), public=True)


def private(what: str, *html: str) -> PagePart:
    """What no epsilon covers."""
    return PagePart("\n".join(html), public=False, what=what)


def without_pictures() -> PagePart | None:
    """The sentence of a page whose pictures cannot be drawn; None: they can."""
    if is_installed(PLOTS):
        return None
    return public(paragraphs(left_out("The pictures of this page were")))


class Number(NamedTuple):
    """A cell that is sorted by its value; `shade` is one of `SHADES`, or nothing."""

    text: str
    value: float
    shade: str = ""


Cell = str | Number | LineKey


def page(
    title: str, about: str, sections: Sequence[Section], foot: str, notice: str = ""
) -> str:
    """The whole page; `notice` is the HTML above all sections."""
    sections = _distinct(sections)
    links = "\n".join(f'<a href="#{s.key}">{for_page(s.title)}</a>' for s in sections)
    parts = "\n".join(
        f'<section id="{s.key}">\n<h2>{for_page(s.title)}</h2>\n{_marked(s)}\n</section>'
        for s in sections
    )
    script = f"<script>{SCRIPT}</script>\n" if LIVE in parts else ""
    style = STYLE
    if live_curves.FIGURE in parts:
        script += f"<script>{live_curves.script()}</script>\n"
        style += live_curves.style()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{for_page(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{for_page(title)}</h1>
<p class="soft">{for_page(about)}</p>
<nav aria-label="Sections">
{links}
</nav>
</header>
<main>
{notice}
{parts}
</main>
<footer><p>{for_page(foot)}</p></footer>
{script}</body>
</html>
"""


def _marked(section: Section) -> str:
    """Warnings, then all parts; those that are not public carry a mark."""
    return "\n".join(
        [
            *map(alarm, section.alarms),
            *(
                part.html if part.public else f"{MARK}\n{part.html}\n</div>"
                for part in section.parts
            ),
        ]
    )


def _distinct(sections: Sequence[Section]) -> list[Section]:
    """Folders of the same name get keys of their own."""
    seen: Counter[str] = Counter()
    found = []
    for section in sections:
        seen[section.key] += 1
        again = seen[section.key]
        found.append(
            section if again == 1 else section._replace(key=f"{section.key}.{again}")
        )
    return found


def paragraphs(*texts: str) -> str:
    """Plain sentences."""
    return "\n".join(f"<p>{unbroken(text)}</p>" for text in texts)


def highlighted(text: str) -> str:
    """A sentence that must not be overlooked."""
    return f'<p class="said">{unbroken(text)}</p>'


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return (
        "<ul>\n" + "\n".join(f"<li>{unbroken(item)}</li>" for item in items) + "\n</ul>"
    )


def heading(text: str) -> str:
    """The title of a part of a section."""
    return f"<h3>{for_page(text)}</h3>"


def facts(values: Mapping[str, str]) -> str:
    """Names and values, in as many columns as there is room for."""
    pairs = (
        f"<div><dt>{for_page(name)}</dt><dd>{for_page(value)}</dd></div>"
        for name, value in values.items()
    )
    return "<dl>\n" + "\n".join(pairs) + "\n</dl>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table; narrow screens scroll it by itself."""
    heads = "".join(f'<th scope="col">{for_page(name)}</th>' for name in head)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{for_page(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return _boxed("<table", heads, body, caption)


def words_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str
) -> str:
    """A table of words: all cells begin at the left, and long ones are broken."""
    heads = "".join(f'<th scope="col">{for_page(name)}</th>' for name in head)
    body = "\n".join("<tr>" + "".join(map(_word_cell, row)) + "</tr>" for row in rows)
    return _boxed('<table class="words"', heads, body, caption)


def _word_cell(cell: str) -> str:
    kind = ' class="long"' if len(cell) > LONG else ""
    return f"<td{kind}>{unbroken(cell)}</td>"


def live_table(
    head: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str
) -> str:
    """A table with at least one row that a script makes sortable and searchable.

    It is complete without the script.
    """
    kinds = ["" if isinstance(cell, Number) else ' class="word"' for cell in rows[0]]
    heads = "".join(
        f'<th scope="col"{kind}>{for_page(name)}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return _boxed(LIVE, heads, body, caption)


def _cell(cell: Cell) -> str:
    if isinstance(cell, LineKey):
        return f'<td class="word">{line_key(cell)}</td>'
    if isinstance(cell, str):
        kind = "word long" if len(cell) > LONG else "word"
        return f'<td class="{kind}">{for_page(cell)}</td>'
    shade = f' class="{cell.shade}"' if cell.shade else ""
    return f'<td{shade} data-value="{_script_number(cell.value)}">{for_page(cell.text)}</td>'


def _script_number(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.17g}"
    return "Infinity" if value > 0 else "-Infinity"


def _boxed(opening: str, heads: str, body: str, caption: str) -> str:
    box, label = (
        BOX.format("Table that may scroll sideways"),
        for_page(caption),
    )
    return (
        f'{box}{opening} aria-label="{label}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n"
        f'<p class="soft">{unbroken(caption)}</p>'
    )


def picture(path: Path, text: str, caption: str) -> str:
    """A PNG inside the page, with a text for those who do not see it.

    Narrow screens scroll a picture instead of making it unreadable.
    """
    return _figure("plain", path, text, caption)


def small_picture(path: Path, text: str, caption: str) -> str:
    """A picture with little in it, which a large screen does not enlarge."""
    return _figure("small", path, text, caption)


def wide_picture(path: Path, text: str, caption: str) -> str:
    """A picture with small print."""
    return _figure("", path, text, caption)


def tall_picture(path: Path, text: str, caption: str) -> str:
    """A picture with small print and several rows.

    As wide as there is room, however high that makes it.
    """
    return _figure("tall", path, text, caption)


def _figure(kind: str, path: Path, text: str, caption: str) -> str:
    box = BOX.format("Figure that may scroll sideways")
    opening = box.replace('class="wide"', f'class="wide {kind}"') if kind else box
    data = base64.b64encode(read_bytes(path)).decode("ascii")
    image = f'<img alt="{for_page(text)}" src="data:image/png;base64,{data}">'
    words = f"<figcaption>{unbroken(caption)}</figcaption>"
    return f"<figure>{opening}{image}</div>{words}</figure>"
