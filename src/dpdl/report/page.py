"""One HTML page that opens anywhere: style, pictures and script are in it, and it asks nobody for anything."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from dpdl.report.figures import BLUE, INK, PALE, PAPER, SOFT

BELOW = ("#FBE9DC", "#F6C9A6", "#F0A970")
ABOVE = ("#E1EFF8", "#B3D6EC", "#85BDE0")
"""Orange and blue, which all eyes tell apart, from little to much. Ink is readable on each of them."""

SHADES = {f"{name}-{k}": colour for name, row in (("below", BELOW), ("above", ABOVE)) for k, colour in enumerate(row)}

STYLE = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; font: 16px/1.55 system-ui, sans-serif; color: {INK}; background: white; overflow-wrap: anywhere; }}
header, main, footer {{ max-width: 73rem; margin: 0 auto; padding: 0 1.2rem; }}
header {{ padding-top: 2rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }}
h2 {{ font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid {PALE}; }}
h3 {{ font-size: 1.05rem; margin: 1.8rem 0 .4rem; }}
p, ul {{ max-width: 46rem; }}
nav a {{ display: inline-block; margin-right: 1.2rem; padding: .2rem 0; }}
a {{ color: {BLUE}; }}
figure {{ margin: 1.2rem 0; }}
figure img {{ display: block; max-width: 100%; height: auto; }}
figure :is(.wide, .small) img {{ max-height: 34rem; }}
figure .tall img {{ max-height: none; }}
figcaption, footer, .soft {{ color: {SOFT}; font-size: .92rem; max-width: 46rem; }}
footer {{ max-width: 73rem; padding-bottom: 2.5rem; margin-top: 3rem; }}
.said {{ background: {PAPER}; border-left: .25rem solid {BLUE}; padding: .7rem 1rem; max-width: 46rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }}
table {{ overflow-wrap: normal; }}
th, td {{ padding: .3rem .8rem .3rem 0; text-align: right; border-bottom: 1px solid {PALE}; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
th {{ font-weight: 600; }}
.live {{ font-size: .88rem; }}
.live th, .live td {{ padding: .2rem .5rem; }}
.live th.word, .live td.word {{ text-align: left; }}
.live td.long {{ white-space: normal; min-width: 15em; }}
.live thead {{ border-bottom: 2px solid {PALE}; }}
.live button {{ font: inherit; color: inherit; background: none; border: 0; padding: .25rem 0; cursor: pointer; }}
.live button::after {{ content: "\\2195" / ""; color: {SOFT}; padding-left: .3em; }}
.live [aria-sort=ascending] button::after {{ content: "\\2191" / ""; color: {BLUE}; }}
.live [aria-sort=descending] button::after {{ content: "\\2193" / ""; color: {BLUE}; }}
.search input {{ font: inherit; width: 16rem; max-width: 100%; padding: .25rem .5rem; border: 1px solid {SOFT}; }}
.search output {{ display: inline-block; color: {SOFT}; padding-left: .5rem; }}
:focus-visible {{ outline: 2px solid {BLUE}; outline-offset: 1px; }}
{"".join(f".{name} {{ background: {colour}; print-color-adjust: exact; }} " for name, colour in SHADES.items())}
dl {{ columns: 19rem; column-gap: 2.5rem; margin: .6rem 0; font-size: .95rem; }}
dl div {{ display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid; }}
dl div {{ border-bottom: 1px solid {PALE}; padding: .15rem 0; }}
dt {{ color: {SOFT}; }}
dd {{ margin: 0; text-align: right; font-variant-numeric: tabular-nums; }}
@media screen and (max-width: 40rem) {{
  table:not(.live) :is(th, td) {{ white-space: normal; }}
  table:not(.live) td:first-child {{ min-width: 9em; }}
  figure .wide img {{ max-width: none; max-height: none; width: 46rem; }}
  h1 {{ font-size: 1.5rem; }}
}}
@media print {{
  body {{ font-size: 10pt; }}
  h2, h3 {{ break-after: avoid; }}
  figure, tr, .said {{ break-inside: avoid; }}
  nav, .search, .live button::after {{ display: none; }}
  .wide {{ overflow: visible; }}
  table, .live {{ font-size: 7.5pt; }}
  .live th, .live td {{ padding: .1rem .3rem; }}
}}
"""

SCRIPT = """
for (const table of document.querySelectorAll("table.live")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = row => [...row.cells].map(cell => cell.textContent).join(" ").toLowerCase();
  const bar = document.createElement("p"), label = document.createElement("label");
  const field = document.createElement("input"), count = document.createElement("output");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every(word => text(row).includes(word));
    count.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} rows`;
  };
  field.type = "search";
  field.addEventListener("input", filter);
  bar.className = "search";
  label.append("Show rows with ", field);
  bar.append(label, count);
  table.parentElement.before(bar);
  filter();
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const order = (a, b) => "value" in a.dataset
        ? Number(a.dataset.value) - Number(b.dataset.value)
        : a.textContent.localeCompare(b.textContent);
      rows.sort((a, b) => way * order(a.cells[k], b.cells[k]));
      body.append(...rows);
    });
  });
}
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
LONG = 30
"""Characters on one line of a cell."""
LIVE = '<table class="live"'
BOX = '<div class="wide" role="region" tabindex="0" aria-label="{}">'


class Section(NamedTuple):
    """A part of the page: `key` is where links point to."""

    key: str
    title: str
    html: str


class Number(NamedTuple):
    """A cell that is sorted by its value; `shade` is one of `SHADES`, or nothing."""

    text: str
    value: float
    shade: str = ""


def page(title: str, about: str, sections: Sequence[Section], foot: str) -> str:
    """The whole page."""
    sections = _distinct(sections)
    links = "\n".join(f'<a href="#{s.key}">{escape(s.title)}</a>' for s in sections)
    parts = "\n".join(f'<section id="{s.key}">\n<h2>{escape(s.title)}</h2>\n{s.html}\n</section>' for s in sections)
    script = f"<script>{SCRIPT}</script>\n" if LIVE in parts else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="soft">{escape(about)}</p>
<nav aria-label="Sections">
{links}
</nav>
</header>
<main>
{parts}
</main>
<footer><p>{escape(foot)}</p></footer>
{script}</body>
</html>
"""


def _distinct(sections: Sequence[Section]) -> list[Section]:
    """Folders of the same name get keys of their own."""
    seen: Counter[str] = Counter()
    found = []
    for section in sections:
        seen[section.key] += 1
        again = seen[section.key]
        found.append(section if again == 1 else section._replace(key=f"{section.key}.{again}"))
    return found


def paragraphs(*texts: str) -> str:
    """Plain sentences."""
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def said(text: str) -> str:
    """A sentence that must not be overlooked."""
    return f'<p class="said">{escape(text)}</p>'


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"


def heading(text: str) -> str:
    """The title of a part of a section."""
    return f"<h3>{escape(text)}</h3>"


def facts(values: Mapping[str, str]) -> str:
    """Names and values, in as many columns as there is room for."""
    pairs = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items())
    return "<dl>\n" + "\n".join(pairs) + "\n</dl>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table; narrow screens scroll it by itself."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return _boxed("<table", heads, body, caption)


def live_table(head: Sequence[str], rows: Sequence[Sequence[str | Number]], caption: str) -> str:
    """A table with at least one row that a script makes sortable and searchable; it is complete without the script."""
    kinds = [' class="word"' if isinstance(cell, str) else "" for cell in rows[0]]
    heads = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return _boxed(LIVE, heads, body, caption)


def _cell(cell: str | Number) -> str:
    if isinstance(cell, str):
        return f'<td class="{"word long" if len(cell) > LONG else "word"}">{escape(cell)}</td>'
    shade = f' class="{cell.shade}"' if cell.shade else ""
    return f'<td{shade} data-value="{_script_number(cell.value)}">{escape(cell.text)}</td>'


def _script_number(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.17g}"
    return "Infinity" if value > 0 else "-Infinity"


def _boxed(opening: str, heads: str, body: str, caption: str) -> str:
    return (
        f'{BOX.format("Table that may scroll sideways")}{opening} aria-label="{escape(caption, quote=True)}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n"
        f'<p class="soft">{escape(caption)}</p>'
    )


def picture(path: Path, text: str, caption: str) -> str:
    """A PNG inside the page, with a text for those who do not see it."""
    return _figure("<div>", path, text, caption)


def small_picture(path: Path, text: str, caption: str) -> str:
    """A picture with little in it, which a large screen does not enlarge."""
    return _figure('<div class="small">', path, text, caption)


def wide_picture(path: Path, text: str, caption: str) -> str:
    """A picture with small print: narrow screens scroll it instead of making it smaller."""
    return _figure(BOX.format("Figure that may scroll sideways"), path, text, caption)


def tall_picture(path: Path, text: str, caption: str) -> str:
    """A picture with small print and several rows: as wide as there is room, however high that makes it."""
    opening = BOX.format("Figure that may scroll sideways").replace('class="wide"', 'class="wide tall"')
    return _figure(opening, path, text, caption)


def _figure(opening: str, path: Path, text: str, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    image = f'<img alt="{escape(text, quote=True)}" src="data:image/png;base64,{data}">'
    return f"<figure>{opening}{image}</div><figcaption>{escape(caption)}</figcaption></figure>"
