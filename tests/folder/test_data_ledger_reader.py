"""The ledger of a data set as it is read."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Debited, Released, Reserved
from dpdl.folder.data_ledger_reader import LedgerReader
from tests.folder.data_ledgers import ROUND, made

MANY = ROUND.times(1000)


@pytest.fixture
def ledger(tmp_path: Path):
    with made(tmp_path) as found:
        yield found


def test_entries_say_what_happened(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY], "2026-01-01", threat="neighbours:1")
    ledger.debit("a", 0, 1)
    ledger.release("a", "2026-01-02")
    _, reserved, debited, released = ledger.entries()
    assert isinstance(reserved, Reserved) and reserved.charges == (MANY,)
    assert (reserved.threat, reserved.time) == ("neighbours:1", "2026-01-01")
    assert isinstance(debited, Debited) and debited.charge == ROUND
    assert isinstance(released, Released) and released.time == "2026-01-02"
    assert list(ledger.runs()) == ["a"]
    assert repr(ledger).startswith("DataLedger('")


def test_a_head_that_was_noted_is_found_again(ledger: DataLedger) -> None:
    noted = ledger.head
    ledger.reserve("a", [MANY])
    assert ledger.holds(noted) and ledger.verify(noted) == ledger.head
    with pytest.raises(InputError, match="restored from an older copy"):
        ledger.verify("0" * 64)


def test_an_older_copy_is_noticed_by_the_head(tmp_path: Path) -> None:
    with made(tmp_path) as ledger:
        ledger.reserve("a", [MANY])
    old = tmp_path / "old"
    shutil.copytree(ledger.folder, old)
    with DataLedger.open(ledger.folder) as ledger:
        ledger.debit("a", 0, 1)
        noted = ledger.head
    with DataLedger.open(old) as restored:
        assert not restored.holds(noted)


def test_a_changed_ledger_cannot_be_opened(tmp_path: Path) -> None:
    with made(tmp_path) as ledger:
        ledger.reserve("a", [MANY])
    db = sqlite3.connect(ledger.folder / "ledger.sqlite")
    db.execute("DROP TRIGGER fixed")
    db.execute("UPDATE entry SET text = replace(text, '1000', '1') WHERE number = 2")
    db.commit()
    db.close()
    with pytest.raises(InputError, match="changed or is damaged in entry 2"):
        DataLedger.open(ledger.folder)


def test_a_file_without_terms_is_no_ledger(tmp_path: Path) -> None:
    with made(tmp_path) as ledger:
        pass
    db = sqlite3.connect(ledger.folder / "ledger.sqlite")
    db.execute("DROP TRIGGER kept")
    db.execute("DELETE FROM entry")
    db.commit()
    db.close()
    with pytest.raises(InputError, match="no terms"):
        DataLedger.open(ledger.folder)


def test_a_reader_sees_what_a_writer_did(ledger: DataLedger) -> None:
    with LedgerReader.open(ledger.folder) as reader:
        ledger.reserve("a", [MANY])
        ledger.debit("a", 0, 1)
        assert reader.head == ledger.head
        assert reader.epsilon() == ledger.epsilon()
        assert reader.run("a").rounds_spent == 1


def test_what_more_rounds_would_make_of_it_is_known_beforehand(
    ledger: DataLedger,
) -> None:
    ledger.reserve("a", [MANY])
    assert ledger.epsilon_with([]) == ledger.epsilon().reserved
    then = ledger.epsilon_with([MANY])
    ledger.reserve("b", [MANY])
    assert ledger.epsilon().reserved == then
