"""Entries as they are read, checked and added."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger_entries import (
    Debited,
    LedgerTerms,
    Reserved,
    entry_hash,
)
from dpdl.folder.data_ledger_file import LedgerFile
from dpdl.folder.data_ledger_journal import Journal, begin, row_of
from tests.folder.data_ledgers import ROUND

TERMS = LedgerTerms(
    version="1",
    id="ab",
    epsilon=6.0,
    delta=1e-6,
    relation="add-remove",
    about="x",
    time="t",
)
RESERVED = Reserved(
    run="r", view=0, charges=(ROUND.times(5),), threat="eavesdropper", time="t"
)


@pytest.fixture
def journal(tmp_path: Path):
    path = tmp_path / "ledger.sqlite"
    LedgerFile.create(path)
    begin(path, TERMS)
    found = Journal(LedgerFile(path))
    with found.writing():
        found.add(RESERVED)
        for t in (1, 2):
            found.add(Debited(run="r", view=0, round=t, charge=ROUND))
    yield found
    found.file.close()


def changed(journal: Journal, statement: str, *values: object) -> None:
    """What a person does who knows SQLite."""
    db = sqlite3.connect(journal.file.path)
    for guard in ("kept", "fixed"):
        db.execute(f"DROP TRIGGER {guard}")
    db.execute(statement, values)
    db.commit()
    db.close()


def test_entries_follow_each_other(journal: Journal) -> None:
    books = journal.current()
    assert books.number == 4 and books.run("r").rounds_spent == 2
    assert books.head == journal.file.after(3)[0].hash
    assert journal.afresh().head == books.head


def test_another_process_sees_them(journal: Journal) -> None:
    other = Journal(LedgerFile(journal.file.path))
    assert other.current().head == journal.current().head
    with journal.writing():
        journal.add(Debited(run="r", view=0, round=3, charge=ROUND))
    assert other.current().run("r").rounds_spent == 3
    other.file.close()


def test_what_is_undone_is_not_in_the_books(journal: Journal) -> None:
    before = journal.current().head
    debit = Debited(run="r", view=0, round=3, charge=ROUND)

    def twice() -> None:
        with journal.writing():
            journal.add(debit)
            journal.add(debit)

    with pytest.raises(InputError, match="UNIQUE"):
        twice()
    assert journal.current().head == before
    assert journal.current().run("r").rounds_spent == 2


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "UPDATE entry SET text = replace(text, '15.19', '25.19') WHERE number = 2",
            "2|3",
        ),
        (
            "UPDATE entry SET text = replace(text, '15.19', '25.19') WHERE number = 4",
            "4",
        ),
        ("DELETE FROM entry WHERE number = 3", "4"),
        ("DELETE FROM entry WHERE number = 1", "2"),
        ("UPDATE entry SET round = 9 WHERE number = 4", "4"),
        ("UPDATE entry SET hash = 'x' WHERE number = 4", "4"),
        ("UPDATE entry SET number = 9 WHERE number = 4", "9"),
        ("UPDATE entry SET text = 'no JSON' WHERE number = 4", "4"),
        ("UPDATE entry SET text = x'ff00' WHERE number = 4", "4|changed"),
    ],
)
def test_every_change_is_noticed_when_the_ledger_is_read(
    journal: Journal, statement: str, words: str
) -> None:
    changed(journal, statement)
    with pytest.raises(InputError, match=f"in entry ({words})|{words}"):
        journal.afresh()


def test_an_entry_with_a_hash_of_its_own_is_noticed_by_the_next_one(
    journal: Journal,
) -> None:
    text = journal.file.after(1)[0].text.replace('"count": 5', '"count": 6')
    statement = "UPDATE entry SET text = ?, hash = ? WHERE number = 2"
    changed(journal, statement, text, entry_hash(text))
    with pytest.raises(InputError, match="in entry 3: It does not follow"):
        journal.afresh()


def test_a_shorter_ledger_is_noticed_by_who_knew_the_longer_one(
    journal: Journal,
) -> None:
    changed(journal, "DELETE FROM entry WHERE number = 4")
    with pytest.raises(InputError, match="older copy"):
        journal.current()
    # Nobody else can: what is left is in order.
    assert Journal(journal.file).current().number == 3


def test_a_row_has_the_address_of_a_debit_only() -> None:
    assert row_of(1, TERMS)[3:] == (None, None, None)
    debit = Debited(run="r", view=2, round=7, charge=ROUND)
    assert row_of(9, debit)[3:] == ("r", 2, 7)
