"""What a run remembers of the ledger of its data: which one, and how far it was."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from dpdl.folder import files, names
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.records import Record

LONGEST = 80
"""Characters of a folder's name in the name of a run."""


@final
@dataclass(frozen=True)
class LedgerNote(Record):
    """`data-ledger.json` in the folder of a run."""

    run: str  # the name that the run has in the ledger
    ledger: str  # the ledger's id
    path: str  # where it was
    head: str  # a hash that it must have

    @classmethod
    def new(cls, folder: Path | None, ledger: LedgerReader) -> Self:
        """That of a run that begins; a run without a folder has a name, too."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", folder.name if folder else "run")
        run = f"{name[:LONGEST]}-{secrets.token_hex(8)}"
        place = str(ledger.folder.absolute())
        return cls(run, ledger.terms.id, place, ledger.head)

    @classmethod
    def of(cls, folder: Path) -> LedgerNote | None:
        """That of a run in a folder; None: it is in no ledger."""
        path = folder / names.LEDGER_NOTE
        return files.read_record(cls, path) if path.exists() else None

    def write(self, folder: Path) -> None:
        """Keep it in the folder of the run."""
        files.write_json(folder / names.LEDGER_NOTE, self)
