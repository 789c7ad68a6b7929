"""Ledgers of data sets as tests need them, and processes that use them at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Charge

ROUND = Charge(sigma=15.19, batch=216, records=6000)
"""A thousand of them cost 0.25 at a delta of 1e-5."""
LARGE = Charge(sigma=1.0, batch=1, records=1)
"""One of them costs 4.38 at a delta of 1e-5: all records take part."""


def made(tmp_path: Path, epsilon: float = 1.0, **more: object) -> DataLedger:
    """A new ledger with a delta of 1e-5."""
    return DataLedger.create(tmp_path / "d.dpdl-ledger", epsilon, 1e-5, **more)


def process(program: str, *words: object) -> subprocess.Popen[str]:
    """A Python program of its own, with words that it finds in `sys.argv`."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
    )
