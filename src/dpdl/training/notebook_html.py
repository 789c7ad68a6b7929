"""Small pieces of HTML for notebooks: a card, a table, a curve.

Every text is escaped. There is no script and no colour but the reader's own, so a card looks right
on a dark and on a light ground.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpdl.text import for_page

WIDTH, HEIGHT, MARGIN = 180, 40, 3
"""Of a curve, in pixels."""
CARD = (
    "display:inline-block;max-width:46em;padding:.7em 1em;border:1px solid;"
    "border-radius:6px;font:13px/1.45 system-ui,sans-serif;color:inherit"
)
CELL = "padding:.15em 1.2em .15em 0;text-align:left;background:none;color:inherit"
QUIET = "opacity:.75;margin:.5em 0 0"


def card(title: str, parts: Iterable[str], foot: Sequence[str] = ()) -> str:
    """A box with a title, parts that are HTML, and sentences below them."""
    notes = "".join(f'<p style="{QUIET}">{for_page(one)}</p>' for one in foot)
    inside = "".join(parts)
    return (
        f'<div style="{CARD}"><strong>{for_page(title)}</strong>{inside}{notes}</div>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; without a head if that is empty."""
    lines = [_row("th", head)] if head else []
    lines += [_row("td", row) for row in rows]
    style = "border-collapse:collapse;margin:.5em 0 0;border:0;font:inherit"
    return f'<table style="{style}">{"".join(lines)}</table>'


def curve(label: str, points: Sequence[tuple[float, float]]) -> str:
    """A small picture of values over rounds, with its ends in words; nothing without two points."""
    if len(points) < 2:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in _placed(points))
    words = for_page(label)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    line = f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    picture = f'<svg {size} role="img" aria-label="{words}"><title>{words}</title>{line}</svg>'
    style = "display:inline-block;margin:.5em 1.5em 0 0"
    return f'<div style="{style}">{picture}<br/><span style="opacity:.75">{words}</span></div>'


def _row(kind: str, cells: Sequence[str]) -> str:
    inside = "".join(
        f'<{kind} style="{CELL}">{for_page(one)}</{kind}>' for one in cells
    )
    return f'<tr style="background:none">{inside}</tr>'


def _placed(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points in pixels; a curve without height runs through the middle."""
    left, right = points[0][0], points[-1][0]
    low, high = min(y for _, y in points), max(y for _, y in points)
    wide, tall = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    across = (right - left) or 1.0
    return [
        (
            MARGIN + wide * (x - left) / across,
            MARGIN + tall * ((high - y) / (high - low) if high > low else 0.5),
        )
        for x, y in points
    ]
