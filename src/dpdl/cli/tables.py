"""Tables for a terminal of any width: texts wrap between words, and no number is ever cut.

A table that fits is drawn with borders. One that is too wide is drawn without them, then with its
texts wrapped, then in several parts below each other, each with the first columns again; and if
not even one number fits beside those, as a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from dpdl.terminal import Console

Cell = str | Text
"""A text is shown as it is; a `Text` may have colours."""
READABLE = 24
"""Columns of text are not squeezed below this width for the sake of borders."""
_BETWEEN_WORDS = re.compile(r"(?<!±)\s+(?!±)")
"""A value and its spread are one word."""


@final
@dataclass(frozen=True)
class Layout:
    """How wide every column is drawn, and whether there are borders."""

    widths: tuple[int, ...]
    borders: bool


@final
class FittingTable:
    """A table whose first `keys` columns say what a row is about; the others are numbers."""

    def __init__(
        self, title: str, head: Sequence[str], keys: int = 1, least_width: int = 0
    ) -> None:
        self._title = title
        self._head = list(head)
        self._keys = keys
        self._least = least_width
        self._rows: list[list[Text]] = []

    def add(self, *cells: Cell, dim: bool = False) -> None:
        """Add a row."""
        style = "dim" if dim else ""
        self._rows.append(
            [one if isinstance(one, Text) else Text(one, style) for one in cells]
        )

    def show(self, console: Console, borders: bool = True) -> None:
        """Print it; without `borders` it never has any."""
        room = console.width
        every = range(len(self._head))
        if layout := self._layout(every, room, borders):
            console.print(self._drawn(every, layout, self._title))
            return
        console.print(self._title, style="italic", highlight=False, markup=False)
        parts = list(self._parts(room))
        if not parts:
            self._list(console)
        for k, (part, layout) in enumerate(parts):
            if k:
                console.print()
            console.print(self._drawn(part, layout, None))

    # ------------------------------------------------------------------ how wide
    def _layout(
        self, columns: Sequence[int], room: int, borders: bool
    ) -> Layout | None:
        """With borders, without them, with wrapped texts: the first that fits."""
        natural = [self._natural(c) for c in columns]
        least = [self._needed(c) for c in columns]
        readable = [
            min(natural[k], max(least[k], READABLE)) if c < self._keys else natural[k]
            for k, c in enumerate(columns)
        ]
        extra = 3 * len(columns) + 1
        if borders and sum(readable) + extra <= room:
            widths = _squeezed(natural, readable, room - extra)
            widths[0] += max(0, min(self._least, room) - sum(widths) - extra)
            return Layout(tuple(widths), borders=True)
        between = 2 * (len(columns) - 1)
        if sum(least) + between <= room:
            widths = _squeezed(natural, least, room - between)
            return Layout(tuple(widths), borders=False)
        return None

    def _natural(self, column: int) -> int:
        cells = [row[column].cell_len for row in self._rows]
        return max([1, len(self._head[column]), *cells])

    def _needed(self, column: int) -> int:
        """The longest word, which nothing may break."""
        texts = [self._head[column], *(row[column].plain for row in self._rows)]
        words = [word for text in texts for word in _BETWEEN_WORDS.split(text)]
        return max(1, *(Text(word).cell_len for word in words))

    def _parts(self, room: int) -> Iterator[tuple[list[int], Layout]]:
        """Groups of columns that fit beside the first ones, as many at a time as possible."""
        keys, left = [*range(self._keys)], [*range(self._keys, len(self._head))]
        found: list[tuple[list[int], Layout]] = []
        while left:
            for count in range(len(left), 0, -1):
                columns = keys + left[:count]
                layout = self._layout(columns, room, borders=False)
                if layout:
                    found.append((columns, layout))
                    left = left[count:]
                    break
            else:
                return
        yield from found

    # ------------------------------------------------------------------ how it is drawn
    def _drawn(
        self, columns: Sequence[int], layout: Layout, title: str | None
    ) -> Table:
        caption = Text(title) if title else None
        if layout.borders:
            table = Table(title=caption, box=HEAVY_HEAD)
        else:
            table = Table(
                title=caption,
                box=SIMPLE_HEAD,
                padding=(0, 1, 0, 0),
                pad_edge=False,
                show_edge=False,
            )
        for column, width in zip(columns, layout.widths, strict=True):
            right = column >= self._keys or self._ranks(column)
            table.add_column(
                Text(self._head[column]),
                justify="right" if right else "left",
                width=width,
                overflow="fold",
            )
        for row in self._rows:
            table.add_row(*(row[column] for column in columns))
        return table

    def _ranks(self, column: int) -> bool:
        """Whether a column has whole numbers only."""
        return all(row[column].plain.isdigit() for row in self._rows if row[column])

    def _list(self, console: Console) -> None:
        """Every row as a paragraph: what it is about, and a line for each number."""
        for row in self._rows:
            about = Text(" ").join(cell for cell in row[: self._keys] if cell.plain)
            console.print(about, style="bold", overflow="fold")
            for name, cell in zip(
                self._head[self._keys :], row[self._keys :], strict=True
            ):
                console.print(Text(f"  {name} ") + cell, overflow="fold")


def _squeezed(natural: Iterable[int], least: Sequence[int], room: int) -> list[int]:
    """The natural widths; the widest give way, down to the least, until all fit the room."""
    widths = list(natural)
    while sum(widths) > room:
        able = [k for k, width in enumerate(widths) if width > least[k]]
        widths[max(able, key=lambda k: widths[k])] -= 1
    return widths
