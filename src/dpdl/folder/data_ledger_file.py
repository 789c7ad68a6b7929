"""The file of a data set's ledger: SQLite, one table to which rows are only added.

    entry(number, text, hash, run, view, round)      run, view and round of debits: unique

Every transaction is durable when it returns (WAL, synchronous=FULL: one fsync), and writers wait
for each other (BEGIN IMMEDIATE).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dpdl.errors import DpdlError, InputError, RunFailed, reason
from dpdl.folder.local_disk import refuse_network_disk

PATIENCE = 60.0
"""Seconds that a writer waits for another one."""
SCHEMA = (
    """CREATE TABLE entry (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL,
run TEXT, view INTEGER, round INTEGER, UNIQUE (run, view, round))""",
    "CREATE INDEX by_hash ON entry (hash)",
    """CREATE TRIGGER kept BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'entries stay'); END""",
    """CREATE TRIGGER fixed BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'entries stay'); END""",
)
DURABLE = ["wal", 2]
"""The modes in which every commit is on the disk when it returns, after one fsync."""


class Row(NamedTuple):
    """One entry as it is stored; the last three are those of a debit."""

    number: int
    text: str
    hash: str
    run: str | None = None
    view: int | None = None
    round: int | None = None


class LedgerFile:
    """An open file; several processes and threads may have it open."""

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        self.path = path
        refuse_network_disk(path.parent, "Ledger")
        self._lock = threading.RLock()
        self._identity = _identity(path)
        with self._translated(InputError):
            self._db = _connected(path, patience)

    @staticmethod
    def create(path: Path) -> None:
        """A new, empty file."""
        with _refusing(path), sqlite3.connect(path) as db:
            db.execute("PRAGMA journal_mode = WAL")
            for statement in SCHEMA:
                db.execute(statement)
        db.close()

    def modes(self) -> list[object]:
        """How the database keeps what is committed."""
        return _modes(self._db)

    def close(self) -> None:
        """Nothing is lost without it; the last one to close puts all into one file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other thread of this process uses the file meanwhile."""
        with self._lock:
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is added is durable at the end, or nothing is there."""
        with self._lock, self._translated(RunFailed):
            self._refuse_other_file()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # it may be over already
                    self._db.execute("ROLLBACK")
                raise

    def add(self, row: Row) -> None:
        """One more entry; within `writing`."""
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", row)

    def after(self, number: int) -> list[Row]:
        """All entries behind one."""
        asked = "SELECT * FROM entry WHERE number > ? ORDER BY number"
        return [Row(*found) for found in self._all(asked, number)]

    def hash_at(self, number: int) -> str | None:
        """The hash of an entry; None: there is none."""
        found = self._all("SELECT hash FROM entry WHERE number = ?", number)
        return str(found[0][0]) if found else None

    def holds(self, hash: str) -> bool:
        """Whether an entry has this hash."""
        return bool(self._all("SELECT 1 FROM entry WHERE hash = ?", hash))

    def debited(self, run: str, view: int, round: int) -> bool:
        """Whether a round of a view was debited."""
        asked = "SELECT 1 FROM entry WHERE run = ? AND view = ? AND round = ?"
        return bool(self._all(asked, run, view, round))

    def rounds(self, run: str) -> set[int]:
        """All rounds of a run that were debited, in any view."""
        found = self._all("SELECT DISTINCT round FROM entry WHERE run = ?", run)
        return {round for (round,) in found}

    def damage(self) -> str | None:
        """What SQLite finds wrong with the file; None: nothing."""
        found = self._all("PRAGMA integrity_check")
        if found != [("ok",)]:
            return str(found[0][0])
        made = {sql for (sql,) in self._all("SELECT sql FROM sqlite_master")}
        strange = made - {*SCHEMA, None} or {*SCHEMA} - made
        return f"its tables were changed: {strange.pop()}" if strange else None

    def _all(self, asked: str, *values: object) -> list[Any]:
        with self._lock, self._translated(RunFailed):
            return self._db.execute(asked, values).fetchall()

    def _refuse_other_file(self) -> None:
        """A file that was put in the place of this one may lack what this one holds."""
        if _identity(self.path) != self._identity:
            raise InputError(
                f"Ledger {str(self.path)!r} was replaced or removed while it was in use; nothing "
                "more is spent."
            )

    @contextmanager
    def _translated(self, kind: type[DpdlError]) -> Iterator[None]:
        """Failures of the database as one sentence."""
        try:
            yield
        except sqlite3.OperationalError as failure:
            raise kind(
                f"Ledger {str(self.path)!r} cannot be used: {reason(failure)}."
            ) from failure
        except sqlite3.DatabaseError as failure:
            raise InputError(
                f"Ledger {str(self.path)!r} is damaged: {reason(failure)}."
            ) from failure


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that commits durably, to a file that is there."""
    place = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(
        place,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        db.execute("PRAGMA synchronous = FULL")
        if (found := _modes(db)) != DURABLE:
            raise sqlite3.OperationalError(f"its modes are {found}, not {DURABLE}")
    except BaseException:
        db.close()
        raise
    return db


def _modes(db: sqlite3.Connection) -> list[object]:
    asked = ("PRAGMA journal_mode", "PRAGMA synchronous")
    return [db.execute(one).fetchone()[0] for one in asked]


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be written: {reason(failure)}."
        ) from failure


def make_durable(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
