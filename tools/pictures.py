"""The two pictures of docs/architecture.md: `python tools/pictures.py` draws them again."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

IMAGES = Path(__file__).parents[1] / "docs/images"
INK, SOFT, PAPER = "#1b2733", "#5b6b7a", "#ffffff"
FILLS = {
    "show": "#e8eef7",
    "do": "#e6f2ec",
    "plan": "#fdf3e3",
    "core": "#f7e9e6",
    "base": "#eef0f2",
}

LAYERS = [
    ("show", {"cli": "parses, calls and prints"}),
    ("show", {"peer": "one process per organisation, over HTTPS"}),
    (
        "show",
        {
            "studies": "what a command does: comparisons, searches, attacks",
            "watch": "a live page about runs",
        },
    ),
    (
        "show",
        {
            "pages": "made from files",
            "audit": "canaries",
            "attacks": "on recordings",
            "bench": "speed",
        },
    ),
    ("do", {"training": "the loop, and what it measures", "theory": "Theorem 2"}),
    ("do", {"folder": "the run folder: all files and their names"}),
    ("plan", {"planning": "public plan, sites, and what they will cost"}),
    ("plan", {"experiment": "what is asked for"}),
    (
        "core",
        {
            "algorithms": "one file each; a round sees a net and private gradients, nothing else"
        },
    ),
    ("core", {"net": "the verbs, and the one exit"}),
    (
        "core",
        {
            "graph": "",
            "privacy": "noise, accounting",
            "tasks": "data, models",
            "transport": "",
            "paper": "",
            "trackers": "",
        },
    ),
    (
        "base",
        dict.fromkeys(
            (
                "types",
                "keys",
                "rows",
                "parallel",
                "native",
                "options",
                "objects",
                "records",
            ),
            "",
        ),
    ),
    ("base", {"errors": ""}),
]
"""The rooms of every floor, with what they are for."""


class Box(NamedTuple):
    """A rectangle with a title and a line below it."""

    x: float
    y: float
    width: float
    height: float
    title: str
    text: str
    fill: str


def drawn(box: Box) -> str:
    """A box as SVG."""
    middle = box.x + box.width / 2
    shift = -5 if box.text else 5
    lines = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="6" fill="{box.fill}" stroke="{SOFT}" stroke-width="1"/>',
        f'<text x="{middle:.1f}" y="{box.y + box.height / 2 + shift:.1f}" font-size="15" '
        f'font-weight="600" text-anchor="middle" fill="{INK}">{escape(box.title)}</text>',
    ]
    if box.text:
        lines.append(
            f'<text x="{middle:.1f}" y="{box.y + box.height / 2 + 14:.1f}" font-size="12" '
            f'text-anchor="middle" fill="{SOFT}">{escape(box.text)}</text>'
        )
    return "\n".join(lines)


def page(width: int, height: int, title: str, content: list[str]) -> str:
    """A whole SVG file."""
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{SOFT}"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{escape(title)}">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([head, marker, paper, *content, "</svg>", ""])


def rooms() -> str:
    """The layers: a room imports from those below it only."""
    width, height, gap = 860, 48, 8
    content = []
    for number, (kind, names) in enumerate(LAYERS):
        each = (width - 40 - gap * (len(names) - 1)) / len(names)
        y = 16 + number * (height + gap)
        for place, (name, text) in enumerate(names.items()):
            x = 20 + place * (each + gap)
            content.append(drawn(Box(x, y, each, height, name, text, FILLS[kind])))
    total = 24 + len(LAYERS) * (height + gap)
    return page(width, total, "Rooms: each imports only from those below it", content)


PRIVATE = [
    ("a file", "PATH.npz, or a site's own", "base"),
    ("tasks.data", "read, checked, a Form", "core"),
    ("planning", "Site: rows of one agent", "plan"),
    ("privacy", "Mechanism: drawn, clipped, noise", "core"),
]
PUBLIC = [
    ("algorithms", "a round", "core"),
    ("net", "the exit: declared", "core"),
    ("transport", "with an address", "core"),
    ("training", "models tested", "do"),
    ("folder", "metrics, summary", "do"),
    ("pages", "made from files", "show"),
]


def way() -> str:
    """From the file to the report, and where the noise is added."""
    width, high = 1010, 62
    content = []

    def row(
        y: float, steps: list[tuple[str, str, str]], each: float, gap: float
    ) -> None:
        for number, (title, text, kind) in enumerate(steps):
            x = 30 + number * (each + gap)
            content.append(drawn(Box(x, y, each, high, title, text, FILLS[kind])))
            if number:
                content.append(arrow(x - gap, y + high / 2, x, y + high / 2))

    content.append(caption(30, 26, "stays in the process that has the record"))
    row(38, PRIVATE, 215, 30)
    content.append(line(20, 128, width - 20))
    content.append(
        caption(120, 150, "may leave: clipped and perturbed, or computed from what is")
    )
    row(162, PUBLIC, 145, 16)
    content.append(
        f'<path d="M872 100V118H102V162" fill="none" stroke="{SOFT}" stroke-width="1.5" '
        'marker-end="url(#tip)"/>'
    )
    return page(width, 246, "The way of a record, from file to report", content)


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """From one box to the next."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{SOFT}" '
        'stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def line(x1: float, y: float, x2: float) -> str:
    """The border between what is private and what may leave."""
    return (
        f'<line x1="{x1}" y1="{y}" x2="{x2}" y2="{y}" stroke="#b3412e" stroke-width="1.5" '
        'stroke-dasharray="6 5"/>'
    )


def caption(x: float, y: float, text: str) -> str:
    """A line of text."""
    return f'<text x="{x}" y="{y}" font-size="13" fill="{SOFT}">{escape(text)}</text>'


def main() -> None:
    """Write both."""
    (IMAGES / "rooms.svg").write_text(rooms(), "utf-8")
    (IMAGES / "record.svg").write_text(way(), "utf-8")


if __name__ == "__main__":
    main()
