"""One HTML page that opens anywhere: style and pictures are in it, and it asks nobody for anything."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from dpdl.report.figures import BLUE, INK, PALE, PAPER, SOFT

STYLE = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; font: 16px/1.55 system-ui, sans-serif; color: {INK}; background: white; }}
header, main, footer {{ max-width: 62rem; margin: 0 auto; padding: 0 1.2rem; }}
header {{ padding-top: 2rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }}
h2 {{ font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid {PALE}; }}
h3 {{ font-size: 1.05rem; margin: 1.6rem 0 .4rem; }}
p, ul {{ max-width: 46rem; }}
nav a {{ margin-right: 1.2rem; }}
a {{ color: {BLUE}; }}
figure {{ margin: 1.2rem 0; }}
figure img {{ max-width: 100%; height: auto; }}
figcaption, footer, .soft {{ color: {SOFT}; font-size: .92rem; }}
.said {{ background: {PAPER}; border-left: .25rem solid {BLUE}; padding: .7rem 1rem; max-width: 46rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }}
th, td {{ padding: .3rem .8rem .3rem 0; text-align: right; border-bottom: 1px solid {PALE}; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
th {{ font-weight: 600; }}
footer {{ padding-bottom: 2.5rem; margin-top: 3rem; }}
@media print {{ h2 {{ break-after: avoid; }} figure, table {{ break-inside: avoid; }} nav {{ display: none; }} }}
"""


class Section(NamedTuple):
    """A part of the page: `key` is where links point to."""

    key: str
    title: str
    html: str


def page(title: str, about: str, sections: Sequence[Section], foot: str) -> str:
    """The whole page."""
    links = "\n".join(f'<a href="#{s.key}">{escape(s.title)}</a>' for s in sections)
    parts = "\n".join(f'<section id="{s.key}">\n<h2>{escape(s.title)}</h2>\n{s.html}\n</section>' for s in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
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
</body>
</html>
"""


def paragraphs(*texts: str) -> str:
    """Plain sentences."""
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def said(text: str) -> str:
    """A sentence that must not be overlooked."""
    return f'<p class="said">{escape(text)}</p>'


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table; narrow screens scroll it by itself."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide"><table aria-label="{escape(caption, quote=True)}">\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n"
        f'<p class="soft">{escape(caption)}</p>'
    )


def picture(path: Path, text: str, caption: str) -> str:
    """A PNG inside the page, with a text for those who do not see it."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    alt = escape(text, quote=True)
    image = f'<img alt="{alt}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
