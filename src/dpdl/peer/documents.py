"""Documents that others wrote: TOML of a bounded size that is exactly one record.

Whatever the bytes are, there is a record or an `InputError` of one sentence. A field that a record
does not have is an error, too: nobody agrees to what this version does not understand.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.records import Json, JsonObject, Record
from dpdl.text import sentence, shown

One = TypeVar("One", bound=Record)
LARGEST = 1 << 20
"""Bytes of a file whose kind has no bound of its own."""


def read_file(path: Path, most: int = LARGEST) -> bytes:
    """The content of a file that somebody names; a missing one is refused."""
    try:
        return foreign.read_bytes(path, most)
    except (OSError, ValueError) as failure:
        raise InputError(
            f"File {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure


def table_of(content: bytes, what: str, most: int) -> JsonObject:
    """The table in a document of at most so many bytes; `what` names it in errors."""
    if len(content) > most:
        raise InputError(f"{what} has more than {most:,} bytes.")
    try:
        return foreign.parse_toml(foreign.decoded(content))
    except ValueError as failure:
        raise InputError(
            sentence(f"{what} is not valid TOML: {reason(failure)}.")
        ) from failure


def record_of(kind: type[One], table: JsonObject, what: str) -> One:
    """The record that a table is; a field that is missing, wrong or unknown is named."""
    try:
        found = kind.from_json(table, what)
        for name, change in _changes(table, found.to_json(), ""):
            _refuse(name, change, what)
    except InputError as failure:
        raise InputError(sentence(str(failure))) from failure
    return found


def record_with_defaults(kind: type[One], table: JsonObject, what: str) -> One:
    """The record that people wrote: what they left out has its default; unknown is refused."""
    try:
        found = kind.from_json(table, what)
        for name, change in _changes(table, found.to_json(), ""):
            if change == "removed":
                _refuse(name, change, what)
    except InputError as failure:
        raise InputError(sentence(str(failure))) from failure
    return found


def _refuse(name: str, change: str, what: str) -> None:
    """Refuse a table in which something is not as the record is written."""
    if change == "removed":
        raise InputError(f"{what} has an unknown field {shown(name)}.")
    outer, _, last = f"{what}.{name}".rpartition(".")
    if change == "added":  # by a default, which another version may have changed
        raise InputError(f"{outer} has no {last!r}.")
    raise InputError(f"{outer}.{last} cannot be read again as it is written.")


def differing_fields(a: Json, b: Json) -> list[str]:
    """Names with dots of what is not the same in both."""
    return [name for name, _ in _changes(a, b, "")]


def _changes(a: Json, b: Json, where: str) -> list[tuple[str, str]]:
    """What was added, removed or changed from a to b, by name."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = dict.fromkeys([*a, *b])
        dot = f"{where}." if where else ""
        parts = [_change(a, b, name, f"{dot}{name}") for name in names]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        parts = [_changes(one, other, f"{where}[{k}]") for k, (one, other) in pairs]
    else:
        return [] if a == b else [(where, "changed")]
    return [change for part in parts for change in part]


def _change(
    a: JsonObject, b: JsonObject, name: str, where: str
) -> list[tuple[str, str]]:
    if name not in b:
        return [(where, "removed")]
    if name not in a:
        return [(where, "added")]
    return _changes(a[name], b[name], where)
