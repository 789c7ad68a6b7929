"""The tables of `run.sqlite`, and how it is opened.

The log of SQLite (WAL) is on disk before a transaction counts as committed: `synchronous` is FULL,
and is looked at again after it was set. A reader sees a transaction only when it is durable.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdl.errors import InputError, RunFailed, reason

FORMAT = 1
CACHE = 16 << 10
"""Kilobytes of pages that the writer keeps: three rounds of rows that are in the database."""
PAGE = 16 << 10
"""Bytes of a page of a new database: rows are long, and every page is written by itself."""
FULL = 2
PATIENCE = 10.0
"""Seconds to wait for another process that looks at the database."""
TABLES = {
    "here": (
        "one integer, run text, round integer, view integer, incarnation integer, "
        "done integer, build text, state text",
        "PRIMARY KEY (one), CHECK (one = 1)",
    ),
    "payload": (
        "sha text, content blob, start integer, length integer",
        "PRIMARY KEY (sha)",
    ),
    "outbox": (
        "view integer, round integer, step integer, target text, head blob, "
        "signature blob, sha text",
        "PRIMARY KEY (view, round, step, target)",
    ),
    "pin": (
        "view integer, round integer, step integer, source text, head blob, "
        "signature blob",
        "PRIMARY KEY (source, view, round, step)",
    ),
    "document": ("kind text, name text, content blob", "PRIMARY KEY (kind, name)"),
    "neighbour": (
        "name text, incarnation integer, nonce text, heads text",
        "PRIMARY KEY (name)",
    ),
    "event": ("time text, kind text, text text, hash text", ""),
}
"""Columns and constraints; the type of every value is checked when a database is opened."""
NUMBERED = {"event": "number INTEGER PRIMARY KEY AUTOINCREMENT"}
"""A number that is never used again comes first: a line that was taken away leaves a gap."""


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables of a new database, in the transaction that has begun."""
    for name, (columns, rules) in TABLES.items():
        typed = [_column(*one.split()) for one in columns.split(", ")]
        parts = [NUMBERED.get(name, ""), *typed, rules]
        db.execute(f"CREATE TABLE {name} ({', '.join(filter(None, parts))})")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def _column(name: str, kind: str) -> str:
    return f"{name} {kind} NOT NULL CHECK (typeof({name}) = '{kind}')"


def writer(path: Path) -> sqlite3.Connection:
    """A connection that writes durably; a file that is there is opened, or one is made."""
    db = _connection(f"{path.absolute().as_uri()}?mode=rwc")
    db.execute(f"PRAGMA page_size = {PAGE}")  # changes nothing in one that is there
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 0")  # `Store` says when
    db.execute(f"PRAGMA cache_size = {-CACHE}")  # a round deletes what it reads here
    db.execute(
        "PRAGMA secure_delete = FAST"
    )  # zeros over old rows would double the log
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    (synchronous,) = db.execute("PRAGMA synchronous").fetchone()
    if (mode, synchronous) != ("wal", FULL):
        raise InputError(
            f"Database {str(path)!r} cannot write durably here: its journal is {mode}, "
            f"synchronous is {synchronous}."
        )
    return db


def reader(path: Path) -> sqlite3.Connection:
    """A connection that changes no row.

    It may tidy up: one of mode `ro` would leave an empty log behind, and skip checks of types.
    """
    db = _connection(f"{path.absolute().as_uri()}?mode=rw")
    db.execute("PRAGMA query_only = 1")
    return db


def _connection(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address,
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )


def check_format(path: Path, db: sqlite3.Connection) -> None:
    """Refuse a database that is damaged, or of a later version of dpdl."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found != FORMAT:
        raise InputError(
            f"Database {str(path)!r} is of format {found}; this version of dpdl reads format "
            f"{FORMAT}."
        )
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    (rows,) = db.execute("SELECT count(*) FROM here").fetchone()
    if (verdict, rows) != ("ok", 1):
        raise InputError(f"Database {str(path)!r} is damaged: {verdict}.")


# ------------------------------------------------------------------ failures
@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Refuse in one sentence what cannot be opened."""
    try:
        yield
    except sqlite3.OperationalError as failure:
        raise InputError(
            f"Database {str(path)!r} cannot be opened: {reason(failure)}; see that the disk is "
            "neither full nor read-only, and that this user may write there."
        ) from failure
    except (sqlite3.DatabaseError, ValueError) as failure:  # a text that is none
        raise InputError(
            f"Database {str(path)!r} is damaged: {reason(failure)}."
        ) from failure


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Stop the run in one sentence when something could not be made durable."""
    try:
        yield
    except (sqlite3.Error, OSError) as failure:
        raise RunFailed(
            f"Database {str(path)!r} cannot be written: {reason(failure)}; nothing was sent. Make "
            "room and start again."
        ) from failure


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Stop the run in one sentence when what was written cannot be read."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as failure:
        raise RunFailed(
            f"Database {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
