"""Foreign text made safe to show: no control characters, no lone surrogates, and no end of length.

Names of files, values of options and notes in files come from outside. A terminal acts upon some of
their characters, an encoder refuses others, and a value of a megabyte hides what is wrong with it.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable

SENTENCE = 293
"""Characters of an error, so that `error: ` and the error are 300."""
VALUE = 60
"""Characters of a value in an error."""
NAMES = 150
"""Characters of a list of names in an error."""
SPACES = frozenset("\n\t")


def plain(text: str) -> str:
    """The text with an escape in place of what is invisible or cannot be encoded.

    Ends of lines and tabulators stay.
    """
    if text.isprintable():
        return text
    return "".join(one if _visible(one) else _escape(one) for one in text)


def _visible(one: str) -> bool:
    return one.isprintable() or one in SPACES or unicodedata.category(one) == "Zs"


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def for_page(text: str) -> str:
    """The text as HTML, within an element or in quotes: no markup, and nothing invisible.

    A browser drops or acts upon control characters, and a mark that turns the direction of
    writing would show a name as another one.
    """
    return html.escape(plain(text))


def sentence(text: str, most: int = SENTENCE) -> str:
    """The text as one plain line; a long one loses its middle, not the reason at its end."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= most else shortened(line, most)


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 3]}...{text[len(text) - end :]}"


def shown(value: object, most: int = VALUE) -> str:
    """A value as an error shows it: its `repr`, or what it is where that is too long to be made."""
    try:
        text = "a huge number" if _is_huge(value) else repr(value)
    except (ValueError, RecursionError):  # a huge number within it; a deep one
        text = f"a {type(value).__name__}"
    return plain(text) if len(text) <= most else f"{plain(text[: most - 3])}..."


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and value.bit_length() > 1000


def listed(names: Iterable[str], most: int = NAMES) -> str:
    """Names with commas between them; of many, the first, and how many more there are."""
    rest = list(names)
    taken: list[str] = []
    while rest and sum(len(name) + 2 for name in [*taken, rest[0]]) <= most:
        taken.append(rest.pop(0))
    more = [f"and {len(rest)} more"] if rest else []
    return ", ".join([*taken, *more])
