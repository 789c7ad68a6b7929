"""How names, keys, addresses and times are spelt in the documents of sites.

Every function refuses another spelling by an `InputError` that begins with `where`, the name of the
field.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

from dpdl.errors import InputError
from dpdl.text import shown

NAME = re.compile(r"[a-z0-9-]{1,40}")
HEXADECIMAL = re.compile(r"[0-9a-f]*")
URL = re.compile(
    r"https://([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?/?"
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", re.ASCII)
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
LONGEST_PERSON = 120
"""Characters of a person's name."""


def check_name(text: str, where: str) -> None:
    """The name of a site or of a data set: small letters, digits and hyphens, 40 at most."""
    if not NAME.fullmatch(text):
        raise InputError(
            f"{where} must be 1 to 40 small letters, digits and hyphens, not {shown(text)}."
        )


def check_hexadecimal(text: str, where: str, digits: int = 64) -> None:
    """A hash or a key: so many hexadecimal digits, in small letters."""
    if len(text) != digits or not HEXADECIMAL.fullmatch(text):
        raise InputError(
            f"{where} must be {digits} hexadecimal digits in small letters, not {shown(text)}."
        )


def check_url(text: str, where: str) -> None:
    """Where a site is reached: `https://host:port`, without a path, a user or a query."""
    found = URL.fullmatch(text)
    if not found or not 0 < int((found[2] or ":443")[1:]) < 65536:
        raise InputError(
            f"{where} must be https://HOST or https://HOST:PORT, not {shown(text)}."
        )


def check_time(text: str, where: str) -> None:
    """A moment with its time zone, such as 2030-06-01T12:00:00Z."""
    try:
        fits = bool(TIME.fullmatch(text)) and bool(datetime.fromisoformat(text))
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"{where} must be a time such as 2030-06-01T12:00:00Z, not {shown(text)}."
        )


def check_date(text: str, where: str) -> None:
    """A day, such as 2030-06-01."""
    try:
        fits = bool(DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"{where} must be a day such as 2030-06-01, not {shown(text)}."
        )


def check_person(text: str, where: str) -> None:
    """Who decided: a printable text that is not empty."""
    if not text.strip() or len(text) > LONGEST_PERSON or not text.isprintable():
        raise InputError(
            f"{where} must be the name of a person, {LONGEST_PERSON} characters at most, not "
            f"{shown(text)}."
        )


def check_count(value: int, where: str, least: int, most: int) -> None:
    """A whole number within bounds."""
    if not least <= value <= most:
        raise InputError(
            f"{where} must be a whole number from {least} to {most}, not {shown(value)}."
        )


def check_positive(value: float, where: str) -> None:
    """A finite number above 0."""
    if not math.isfinite(value) or value <= 0:
        raise InputError(
            f"{where} must be a finite number above 0, not {shown(value)}."
        )


def time_text(moment: datetime | None = None) -> str:
    """A moment as documents have it, by default now: UTC, to the second."""
    at = (moment or datetime.now(UTC)).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"
