"""The ledger of a run while it grows: its mechanism, and how many rounds are charged."""

from __future__ import annotations

from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.folder.ledger_lines import ChargedCentre, ChargedRound, Header, line_of
from dpdl.foreign import parse_json
from dpdl.watch.lines import GrowingLines


@final
class Charges:
    """What the lines of a ledger say so far; `wrong` is why the rest is not read, if so."""

    def __init__(self, path: Path) -> None:
        self.lines = GrowingLines(path)
        self._empty()

    def _empty(self) -> None:
        self._generation = self.lines.generation
        self.header: Header | None = None
        self.planned: int | None = None
        self.last = 0  # the last round that left
        self.wrong = ""
        self._entries = self._centres = 0
        self._rounds: set[int] = set()

    @property
    def charged(self) -> int:
        """How many rounds count for privacy, as `LedgerContent.charged` counts them."""
        repeatable = self.header is not None and self.header.repeatable
        return len(self._rounds) if repeatable else self._entries

    @property
    def centres(self) -> int:
        """How often a centre counts, as `LedgerContent.centres` counts them."""
        repeatable = self.header is not None and self.header.repeatable
        return 1 if repeatable else max(1, self._centres)

    def refresh(self) -> bool:
        """Read what is new; whether there was anything."""
        new = self.lines.new()
        fresh = self.lines.generation != self._generation
        if fresh:
            self._empty()
        for line in new:
            if not self.wrong:
                self._take(line.text)
        return bool(new) or fresh

    def _take(self, text: bytes) -> None:
        try:
            line = line_of(parse_json(text))
        except (InputError, ValueError) as failure:
            self.wrong = f"The ledger is damaged: {str(failure).rstrip('.')}."
            return
        if isinstance(line, Header):
            self.header, self.planned = line, line.rounds
        elif isinstance(line, ChargedRound):
            self._entries += 1
            self._rounds.add(line.round)
            self.last = max(self.last, line.round)
        elif isinstance(line, ChargedCentre):
            self._centres += 1
        else:
            self.planned = line.rounds
