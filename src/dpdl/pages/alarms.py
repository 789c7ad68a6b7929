"""Warnings on a page: seen as such by their sign and their heading, also without colours."""

from __future__ import annotations

from typing import NamedTuple

from dpdl.pages.unbroken import unbroken
from dpdl.text import for_page

SIGN = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path fill-rule="evenodd" '
    'd="M12 2L23 21H1ZM11 9V15H13V9ZM11 16.5V18.5H13V16.5Z"/></svg>'
)
"""A triangle with an exclamation mark."""


class Alarm(NamedTuple):
    """A sentence that changes how everything else must be read, under a few words in bold."""

    text: str
    head: str = "Warning"


def alarm(warning: Alarm) -> str:
    """A box that looks like a warning, also without colours."""
    return (
        f'<div class="alarm" role="note"><p class="head">{SIGN}'
        f"{for_page(warning.head)}</p>\n<p>{unbroken(warning.text)}</p></div>"
    )
