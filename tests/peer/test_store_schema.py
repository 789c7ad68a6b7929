"""A database is opened durably or not at all, and one that is damaged is refused in a sentence."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from dpdl.errors import DpdlError, InputError
from dpdl.peer.store import Store, StoreReader
from dpdl.peer.store_schema import reader, writer
from tests.peer.stores import SMALL, told, two_rounds


@pytest.fixture
def database(tmp_path: Path) -> Path:
    two_rounds(tmp_path, SMALL)
    return tmp_path / "run.sqlite"


def asked(db: sqlite3.Connection, name: str) -> object:
    (found,) = db.execute(f"PRAGMA {name}").fetchone()
    return found


def test_a_writer_is_durable(database: Path) -> None:
    db = writer(database)
    assert asked(db, "synchronous") == 2
    assert asked(db, "journal_mode") == "wal"
    assert asked(db, "wal_autocheckpoint") == 0
    db.close()


def test_a_database_keeps_the_pages_that_it_was_made_with(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old") as old:
        old.executescript("PRAGMA page_size = 4096; CREATE TABLE rows (x)")
    old.close()
    for name, size in (("old", 4096), ("new", 16384)):
        db = writer(tmp_path / name)
        db.execute("CREATE TABLE IF NOT EXISTS rows (x)")
        assert asked(db, "page_size") == size
        db.close()


def test_what_cannot_have_a_log_is_refused() -> None:
    """A database in memory has none; so has one on a file system without shared memory."""
    with pytest.raises(InputError, match="cannot write durably here: its journal is"):
        writer(MemoryPath("/memory"))


class MemoryPath(type(Path())):
    """A path that SQLite keeps in memory."""

    def as_uri(self) -> str:
        return "file::memory:"

    def absolute(self) -> MemoryPath:
        return self


def test_a_reader_changes_nothing(database: Path) -> None:
    db = reader(database)
    with pytest.raises(sqlite3.OperationalError):
        db.execute("DELETE FROM outbox")
    db.close()


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_format_is_refused(database: Path, version: int) -> None:
    with sqlite3.connect(database) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    for kind in (Store, StoreReader):
        with pytest.raises(
            InputError, match=f"of format {version}; this version of dp"
        ):
            kind(database.parent)


@pytest.mark.parametrize(
    "content", [b"", b"rubbish" * 1000, bytes(4096)], ids=["empty", "text", "zeros"]
)
def test_what_is_no_database_is_refused(database: Path, content: bytes) -> None:
    database.write_bytes(content)
    for kind in (Store, StoreReader):
        with pytest.raises(InputError, match=r"is damaged|is of format 0"):
            kind(database.parent)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET text = x'00'",
        "UPDATE here SET round = 'three'",
        "UPDATE outbox SET head = 5",
        "DELETE FROM here",
    ],
)
def test_values_of_other_types_are_damage(database: Path, change: str) -> None:
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        db.execute(change)
    db.close()
    with pytest.raises(InputError, match="is damaged"):
        Store(database.parent)


def test_a_damaged_database_is_refused_or_read(database: Path) -> None:
    """Whatever bytes are changed: one sentence, or a store that answers."""
    good = database.read_bytes()
    draw = random.Random(3)
    refused = 0
    for _ in range(60):
        content = bytearray(good)
        for _ in range(draw.randint(1, 30)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        database.write_bytes(content[: draw.choice([None, draw.randrange(len(good))])])
        try:
            with Store(database.parent) as store:
                told(store)
        except DpdlError:
            refused += 1
    assert refused > 20
