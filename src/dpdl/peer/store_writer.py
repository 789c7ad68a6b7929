"""How the database of a run is written: each change is one transaction, by one process."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dpdl.peer.folder_lock import lock_folder
from dpdl.peer.frame import Payload, digest_of
from dpdl.peer.keys import sync_folder
from dpdl.peer.payload_file import LARGE, PayloadFile, Piece
from dpdl.peer.store_reader import DATABASE, INSIDE, PAYLOADS, StoreReader
from dpdl.peer.store_schema import create_tables, opening, writer, writing

CHECKPOINT = 16 << 20
"""Bytes of new content after which the log is written back into the database."""
OVERHEAD = 1 << 17
"""Bytes that a transaction adds to the log besides its content, roughly."""
UNUSED = "sha NOT IN (SELECT sha FROM outbox UNION SELECT state FROM here)"
PIECES = "SELECT start, length FROM payload WHERE start >= 0"

Fault = Callable[[str], None]
Contents = Mapping[str, Payload]
"""Payloads by their SHA-256."""


def nothing(point: str) -> None:
    """No fault happens."""


class StoreWriter(StoreReader):
    """The database of a run, which no other process has open for writing."""

    def __init__(self, folder: Path, fault: Fault = nothing) -> None:
        self._fault = fault
        self._writes = threading.RLock()
        self._written = 0  # bytes since the log was written back
        self._freed: list[Piece] = []
        with ExitStack() as undo:
            undo.callback(os.close, lock_folder(folder))
            super().__init__(folder)
            undo.callback(super().close)
            self._large = self._checked_pieces(folder / PAYLOADS)
            with opening(self.path):
                self._db = writer(self.path)
                undo.callback(self._db.close)
                self._write_back()
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Let go of the files and of the folder; the log is written back first."""
        with self._writes:
            super().close()
            self._undo.close()

    def _checked_pieces(self, path: Path) -> PayloadFile:
        """The file of large payloads, whose content must be what the database says it is."""
        file = PayloadFile(path, [Piece(*row) for row in self._ask(PIECES)])
        for sha, *row in self._ask(PIECES.replace("SELECT", "SELECT sha,")):
            if not path.is_file() or digest_of(file.read(Piece(*row))) != sha:
                raise self._unfit()
        return file

    # ------------------------------------------------------------------ transactions
    @contextmanager
    def _transaction(
        self, *names: str, contents: Contents | None = None
    ) -> Iterator[sqlite3.Connection]:
        """All that is done to the database within, and `contents`, or nothing."""
        with self._writes:
            self._reach(names, "before")
            self._freed = []
            with writing(self.path):
                rows = self._payload_rows(contents or {})
                with _all_or_nothing(self._db):
                    self._db.executemany("INSERT INTO payload VALUES (?,?,?,?)", rows)
                    yield self._db
                    self._reach(names, "inside")
            self._large.release(self._freed)
            self._written += OVERHEAD
            self._reach(names, "after")

    def _reach(self, names: tuple[str, ...], point: str) -> None:
        for name in names:
            self._fault(f"{name}:{point}")

    def _payload_rows(self, contents: Contents) -> list[tuple[str, bytes, int, int]]:
        """Rows for payloads that are new; the large ones are durable in their file.

        If the transaction fails, their pieces stay in use until the run is opened again: nobody
        knows then whether its rows have reached the disk.
        """
        new = {sha: some for sha, some in contents.items() if not self._has(sha)}
        large = {sha: some for sha, some in new.items() if len(some) > LARGE}
        pieces = self._add_large(large) if large else {}
        small = {sha: bytes(some) for sha, some in new.items() if sha not in large}
        self._written += sum(map(len, small.values()))
        return [
            *((sha, content, INSIDE, len(content)) for sha, content in small.items()),
            *((sha, b"", *piece) for sha, piece in pieces.items()),
        ]

    def _add_large(self, large: Contents) -> dict[str, Piece]:
        self._fault("payload:before")
        pieces = self._large.add(list(large.values()))
        self._fault("payload:after")
        return dict(zip(large, pieces, strict=True))

    def _has(self, sha: str) -> bool:
        return bool(self._ask("SELECT 1 FROM payload WHERE sha = ?", sha))

    def _collect(self, db: sqlite3.Connection) -> None:
        """Drop payloads that nothing needs; their pieces are free once that is durable."""
        rows = db.execute(f"{PIECES} AND {UNUSED}").fetchall()
        self._freed = [Piece(*row) for row in rows]
        db.execute(f"DELETE FROM payload WHERE {UNUSED}")

    def _write_back(self) -> None:
        """Copy the log into the database, so that it is used again from its beginning."""
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._written = 0


@contextmanager
def _all_or_nothing(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def write_first(folder: Path, run: str, build: str, state: bytes) -> None:
    """A database before the first round, complete when it has its name."""
    new = folder / f"{DATABASE}.new"
    for rest in ("", "-wal", "-shm"):
        new.with_name(new.name + rest).unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o600))
    db = writer(new)
    try:
        with _all_or_nothing(db):
            create_tables(db)
            sha = digest_of(state)
            db.execute(
                "INSERT INTO payload VALUES (?, ?, ?, ?)",
                (sha, state, INSIDE, len(state)),
            )
            db.execute(
                "INSERT INTO here VALUES (1, ?, 0, 0, 0, 0, ?, ?)", (run, build, sha)
            )
    finally:
        db.close()  # writes the log back, and removes it
    new.replace(folder / DATABASE)
    sync_folder(folder)
