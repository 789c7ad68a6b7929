"""What a ledger says: its lines, whether each follows the one before, and what they add up to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from dpdl.errors import InputError, reason
from dpdl.folder.ledger_lines import (
    START,
    ChargedCentre,
    ChargedRound,
    Header,
    Line,
    line_hash,
    line_of,
)
from dpdl.foreign import parse_json, read_bytes

ITS_OWN = ("ledger", "version", "rounds", "sigma_eff", "releases", "prev", "above")
"""What may differ between two headers: all rounds of a ledger have one mechanism."""


@dataclass(frozen=True)
class LedgerContent:
    """All that the lines of a ledger say."""

    header: Header  # the last one
    entries: Sequence[ChargedRound]
    rounds: int | None  # planned; None: format 1 does not say
    breaks: Sequence[int]  # numbers of the lines that do not follow what is above them
    head: str  # hash of the last line
    lines: int
    size: int  # bytes up to the end of the last whole line
    sha256: str  # of these bytes
    closed: bool  # whether the last whole line has its end
    centre_lines: int = 0  # how often the centre of features left

    @property
    def format(self) -> int:
        """Of the last header."""
        return self.header.ledger

    @property
    def last(self) -> int:
        """The last round that left."""
        return max((entry.round for entry in self.entries), default=0)

    @property
    def centres(self) -> int:
        """How often a centre is charged, at least once where there is to be one.

        With reproducible randomness it leaves again with the same bytes, and counts once.
        """
        return 1 if self.header.repeatable else max(1, self.centre_lines)

    def charged(self, done: int | None = None) -> int:
        """How many rounds are charged, or will still be when the run goes on after round `done`.

        With reproducible randomness a round that leaves again leaves with the same bytes, and
        counts once.
        """
        if not self.header.repeatable:
            return len(self.entries)
        rounds = {entry.round for entry in self.entries}
        return sum(done is None or t <= done for t in rounds)


def read(path: Path) -> LedgerContent:
    """The ledger of a file.

    A line that cannot be read is refused, except for the last one, which a crash may cut off.
    """
    try:
        content = read_bytes(path)
    except OSError as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    except ValueError as failure:
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    reader = _Reader()
    *whole, rest = content.split(b"\n")
    for line in whole:
        try:
            reader.take(line, b"\n")
        except InputError as failure:
            raise InputError(
                f"Ledger {str(path)!r} is damaged in line {reader.lines + 1}: {failure}"
            ) from failure
    with suppress(InputError):  # a line that was cut off: nothing of its round had left
        reader.take(rest, b"")
    if reader.header is None:
        raise InputError(f"Ledger {str(path)!r} is damaged: it has no header.")
    return reader.content(closed=reader.size < len(content) or not rest)


class _Reader:
    """Takes one line after the other."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.lines = self.size = 0
        self._entries: list[ChargedRound] = []
        self._rounds: int | None = None
        self._breaks: list[int] = []
        self._centres = 0
        self._head = START
        self._above = hashlib.sha256()

    def take(self, text: bytes, end: bytes) -> None:
        """Enter a line, or raise what is wrong with it."""
        line = _parsed(text)
        if isinstance(line, Header):
            self._take_header(line)
        elif self.header is None:
            raise InputError("It comes before any header.")
        elif isinstance(line, ChargedRound):
            self._entries.append(line)
        elif isinstance(line, ChargedCentre):
            self._centres += 1
        else:
            self._rounds = line.rounds
        if not self._follows(line):
            self._breaks.append(self.lines + 1)
        self._head = line_hash(text)
        self._above.update(text + end)
        self.lines += 1
        self.size += len(text + end)

    def content(self, closed: bool) -> LedgerContent:
        """What was read."""
        assert self.header is not None
        return LedgerContent(
            header=self.header,
            entries=self._entries,
            rounds=self._rounds,
            breaks=self._breaks,
            head=self._head,
            lines=self.lines,
            size=self.size,
            sha256=self._above.hexdigest(),
            closed=closed,
            centre_lines=self._centres,
        )

    def _take_header(self, found: Header) -> None:
        for name in changed(self.header, found) if self.header else ():
            raise InputError(f"It has another {name} than the header above it.")
        self.header = found
        self._rounds = found.rounds

    def _follows(self, line: Line) -> bool:
        """Whether a line has the hash of the line above it, and of all lines after format 1."""
        assert self.header is not None
        if self.header.ledger == 1:
            return True
        above = line.above if isinstance(line, Header) else None
        return line.prev == self._head and above in (None, self._above.hexdigest())


def changed(before: Header, now: Header) -> list[str]:
    """What a header states of the mechanism and a later one states otherwise."""
    written = before.to_json()
    return [
        f.name
        for f in fields(Header)
        if f.name in written
        and f.name not in ITS_OWN
        and getattr(now, f.name) != getattr(before, f.name)
    ]


def _parsed(line: bytes) -> Line:
    try:
        return line_of(parse_json(line))
    except ValueError as failure:
        raise InputError(f"{failure}.") from failure
