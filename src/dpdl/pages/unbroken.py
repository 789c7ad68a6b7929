"""Texts on a page in which names of options and algorithms are never broken in mid-word."""

from __future__ import annotations

import re

from dpdl.pages.lines import LOOKS
from dpdl.text import for_page

_NAMES = sorted((name for name in LOOKS if "-" in name), key=len, reverse=True)
UNBROKEN = re.compile(rf"(?<![\w-])(--[a-z][a-z-]*|{'|'.join(_NAMES)})(?![\w-])")
"""An option such as `--public`, or an algorithm with a hyphen in its name."""


def unbroken(text: str) -> str:
    """A text as HTML; a browser may break its lines at all other hyphens."""
    return UNBROKEN.sub(r'<span class="name">\1</span>', for_page(text))
