"""The file of a data set's ledger."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.folder.data_ledger_file import LedgerFile, Row, make_durable


@pytest.fixture
def file(tmp_path: Path):
    LedgerFile.create(tmp_path / "ledger.sqlite")
    found = LedgerFile(tmp_path / "ledger.sqlite", patience=0.2)
    yield found
    found.close()


def add(file: LedgerFile, number: int, **more) -> None:
    with file.writing():
        file.add(Row(number, f"text {number}", f"hash {number}", **more))


def test_rows_are_read_as_they_were_added(file: LedgerFile) -> None:
    add(file, 1)
    add(file, 2, run="r", view=0, round=7)
    assert [row.text for row in file.after(0)] == ["text 1", "text 2"]
    assert file.after(1) == [Row(2, "text 2", "hash 2", "r", 0, 7)]
    assert file.hash_at(2) == "hash 2" and file.hash_at(3) is None
    assert file.holds("hash 1") and not file.holds("hash 3")
    assert file.debited("r", 0, 7) and not file.debited("r", 1, 7)
    assert file.rounds("r") == {7} and file.rounds("s") == set()


def test_a_transaction_that_fails_leaves_nothing(file: LedgerFile) -> None:
    def twice() -> None:
        with file.writing():
            file.add(Row(1, "text", "hash"))
            file.add(Row(1, "text", "hash"))

    with pytest.raises(InputError, match="UNIQUE"):
        twice()
    assert file.after(0) == []
    add(file, 1)


def test_every_commit_is_durable(file: LedgerFile) -> None:
    assert file.modes() == ["wal", 2]


def test_entries_can_neither_be_changed_nor_removed(file: LedgerFile) -> None:
    add(file, 1)
    db = sqlite3.connect(file.path)
    for statement in ("DELETE FROM entry", "UPDATE entry SET text = 'x'"):
        with pytest.raises(sqlite3.IntegrityError, match="entries stay"):
            db.execute(statement)
    db.close()


def test_a_round_is_entered_once(file: LedgerFile) -> None:
    add(file, 1, run="r", view=0, round=7)
    with pytest.raises(InputError, match="UNIQUE"):
        add(file, 2, run="r", view=0, round=7)


def test_a_second_writer_waits_and_then_says_so(file: LedgerFile) -> None:
    other = LedgerFile(file.path, patience=0.2)
    with file.writing(), pytest.raises(RunFailed, match="locked"), other.writing():
        pass
    add(other, 1)
    other.close()


def test_threads_take_turns(file: LedgerFile) -> None:
    def work() -> None:
        for _ in range(20):
            with file.writing():
                number = len(file.after(0)) + 1
                file.add(Row(number, "t", "h"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number for row in file.after(0)] == list(range(1, 81))


@pytest.mark.parametrize("content", [b"not a database" * 100, b"\0" * 5000, b""])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match="Ledger"):
        LedgerFile(path)


def test_a_file_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unable to open"):
        LedgerFile(tmp_path / "ledger.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        LedgerFile.create(tmp_path / "none" / "ledger.sqlite")


@pytest.mark.parametrize("what", ["replaced", "removed"])
def test_a_file_that_was_exchanged_takes_nothing_more(
    file: LedgerFile, what: str
) -> None:
    old = file.path.with_name("old")
    shutil.copyfile(file.path, old)
    add(file, 1)
    old.replace(file.path) if what == "replaced" else file.path.unlink()
    with pytest.raises(InputError, match="replaced or removed"):
        add(file, 2)


def test_damage_is_found(file: LedgerFile) -> None:
    for number in range(1, 200):
        add(file, number)
    assert file.damage() is None
    db = sqlite3.connect(file.path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("CREATE TRIGGER sly AFTER INSERT ON entry BEGIN SELECT 1; END")
    db.close()
    assert "sly" in file.damage()


def test_a_table_without_its_guards_is_found(file: LedgerFile) -> None:
    db = sqlite3.connect(file.path)
    db.execute("DROP TRIGGER kept")
    db.commit()
    db.close()
    assert "TRIGGER kept" in file.damage()


def test_damaged_pages_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    LedgerFile.create(path)
    file = LedgerFile(path)
    for number in range(1, 300):
        add(file, number)
    file.close()
    size = path.stat().st_size
    with path.open("r+b") as content:
        content.seek(size - 4096)
        content.write(os.urandom(4096))
    file = LedgerFile(path)
    try:
        found = file.damage()
    except InputError as failure:
        found = str(failure)
    finally:
        file.close()
    assert found


def test_durable_is_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    make_durable(tmp_path / "x")
    make_durable(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        make_durable(tmp_path / "y")
