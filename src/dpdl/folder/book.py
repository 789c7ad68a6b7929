"""Reading a ledger: its lines, whether each follows the one before, and what they add up to.

A line is a JSON object and has the hash of the line before it under `prev`:

    {"ledger": 2, ...}   a header: the mechanism of the rounds that follow, and how many are planned
    {"round": 7}         round 7 left; "agents" says whom it is charged to if not all, "again" that
                         it had left before
    {"rounds": 40}       from here on the run was to have 40 rounds

Format 1 had no hashes; a run that was begun with it goes on after a header of format 2, which has
the hash of all that is above it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpdl.errors import InputError

FORMAT = 2
START = "0" * 32
"""What the first line has in place of a hash."""
NEEDED_BEFORE = (
    "sigma",
    "sigma_eff",
    "records",
    "batch",
    "delta",
    "relation",
    "sampling",
)
NEEDED = (*NEEDED_BEFORE, "rounds", "randomness", "weights", "parameters", "options")
"""What a header must have, in format 1 and now."""
ITS_OWN = ("ledger", "version", "rounds", "sigma_eff", "releases", "prev", "above")
"""What may differ between two headers: all rounds of a ledger have one mechanism."""


class Entry(NamedTuple):
    """One round that is charged."""

    round: int
    agents: tuple[int, ...] | None  # who paid; None: all
    again: bool  # it had left before


@dataclass(frozen=True)
class Book:
    """What a ledger says."""

    header: Mapping[str, Any]  # the last one
    entries: Sequence[Entry]
    rounds: int | None  # planned; None: format 1 does not say
    breaks: Sequence[int]  # numbers of the lines that do not follow what is above them
    head: str  # hash of the last line
    lines: int
    size: int  # bytes up to the end of the last whole line
    sha256: str  # of these bytes
    closed: bool  # whether the last whole line has its end

    @property
    def format(self) -> int:
        """Of the last header."""
        return int(self.header["ledger"])

    @property
    def last(self) -> int:
        """The last round that left."""
        return max((entry.round for entry in self.entries), default=0)

    def billed(self, done: int | None = None) -> int:
        """How many rounds are charged, or will still be when the run goes on after round `done`.

        With reproducible randomness a round that leaves again leaves with the same bytes, and
        counts once.
        """
        if self.header.get("randomness") != "reproducible":
            return len(self.entries)
        return len(
            {
                entry.round
                for entry in self.entries
                if done is None or entry.round <= done
            }
        )


def line_hash(line: bytes) -> str:
    """What the next line has under `prev`."""
    return hashlib.sha256(line).hexdigest()[: len(START)]


def read(path: Path) -> Book:
    """The ledger of a file.

    A line that cannot be read is refused, but for the last one, which a crash may cut off.
    """
    try:
        content = path.read_bytes()
    except OSError as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {failure.strerror}."
        ) from failure
    reader = _Reader()
    *whole, rest = content.split(b"\n")
    for line in whole:
        try:
            reader.take(line, b"\n")
        except (ValueError, KeyError, TypeError) as failure:
            raise InputError(
                f"Ledger {str(path)!r} is damaged in line {reader.lines + 1}: "
                f"{failure}."
            ) from failure
    with suppress(
        ValueError, KeyError, TypeError
    ):  # a line that was cut off: its round had not been paid for
        reader.take(rest, b"")
    if reader.header is None:
        raise InputError(f"Ledger {str(path)!r} is damaged: it has no header.")
    return reader.book(closed=reader.size < len(content) or not rest)


def refuse_constant(word: str) -> None:
    """For `json.loads`, which would take NaN and infinities."""
    raise ValueError(f"{word} is not JSON")


class _Reader:
    """Takes one line after the other."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self.lines = self.size = 0
        self._entries: list[Entry] = []
        self._rounds: int | None = None
        self._breaks: list[int] = []
        self._head = START
        self._above = hashlib.sha256()

    def take(self, line: bytes, end: bytes) -> None:
        """Enter a line, or raise what is wrong with it."""
        found = json.loads(line, parse_constant=refuse_constant)
        if not isinstance(found, dict):
            raise ValueError("it is not an object")
        if "ledger" in found:
            self._take_header(found)
        elif self.header is None:
            raise ValueError("it comes before any header")
        elif "round" in found:
            agents = found.get("agents")
            paid = None if agents is None else tuple(map(int, agents))
            self._entries.append(
                Entry(int(found["round"]), paid, bool(found.get("again", False)))
            )
        elif "rounds" in found:
            self._rounds = int(found["rounds"])
        else:
            raise ValueError("it is neither a header nor a round")
        if not self._follows(found):
            self._breaks.append(self.lines + 1)
        self._head = line_hash(line)
        self._above.update(line + end)
        self.lines += 1
        self.size += len(line + end)

    def book(self, closed: bool) -> Book:
        """What was read."""
        assert self.header is not None
        sha256 = self._above.hexdigest()
        rounds, breaks = self._rounds, self._breaks
        return Book(
            self.header,
            self._entries,
            rounds,
            breaks,
            self._head,
            self.lines,
            self.size,
            sha256,
            closed,
        )

    def _take_header(self, found: dict[str, Any]) -> None:
        if found["ledger"] not in (1, FORMAT):
            raise ValueError(
                f"format {found['ledger']} is that of another version of dpdl"
            )
        for name in NEEDED if found["ledger"] == FORMAT else NEEDED_BEFORE:
            if name not in found:
                raise ValueError(f"it has no {name}")
        for name, value in (self.header or {}).items():
            if name not in ITS_OWN and found.get(name) != value:
                raise ValueError(f"it has another {name} than the header above it")
        self.header = found
        self._rounds = int(found["rounds"]) if "rounds" in found else None

    def _follows(self, found: Mapping[str, Any]) -> bool:
        """Whether a line has the hash of the line above it, and of all lines after format 1."""
        assert self.header is not None
        if self.header["ledger"] == 1:
            return True
        return found.get("prev") == self._head and found.get("above") in (
            None,
            self._above.hexdigest(),
        )
