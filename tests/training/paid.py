"""Runs that pay into the ledger of their data."""

from __future__ import annotations

from pathlib import Path

import dpdl
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_books import RunBalance
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.tasks.data import Dataset
from tests.training.small import changed, train

PAID = changed(
    randomness="secure", algorithm="dp-dpsgd", sigma=30.0, partition="iid", batch=40
)
"""Twelve rounds that cost 0.12 for a delta of 1e-5; states are saved every third round."""


def new_ledger(folder: Path, epsilon: float = 10.0) -> Path:
    with DataLedger.create(folder / "d.dpdl-ledger", epsilon, 1e-5) as ledger:
        return ledger.folder


def paid(
    blobs: Dataset, ledger: Path, experiment: dpdl.Experiment = PAID, **more
) -> dpdl.Result:
    return train(blobs, experiment, ledger=ledger, **more)


def balance(ledger: Path) -> RunBalance:
    """That of the last run."""
    with LedgerReader.open(ledger) as reader:
        return list(reader.runs().values())[-1]


def spent(ledger: Path) -> float:
    with LedgerReader.open(ledger) as reader:
        return reader.epsilon().spent
