"""The entries of a data set's ledger as they are read, checked and added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dpdl.errors import InputError
from dpdl.folder.data_ledger_books import Books
from dpdl.folder.data_ledger_entries import (
    Debited,
    Entry,
    LedgerTerms,
    entry_hash,
    entry_text,
)
from dpdl.folder.data_ledger_file import LedgerFile, Row


class Journal:
    """A file, and the books that its entries make; other processes may add to the file."""

    def __init__(self, file: LedgerFile) -> None:
        self.file = file
        self._books = Books()

    @property
    def name(self) -> str:
        """What errors call it."""
        return str(self.file.path.parent)

    def current(self) -> Books:
        """The books after all entries that are in the file now."""
        with self.file.alone():
            self._refuse_older()
            for row in self.file.after(self._books.number):
                self._take(row)
            return self._books

    def afresh(self) -> Books:
        """The same, read again from the first entry on."""
        with self.file.alone():
            self._books = Books()
            return self.current()

    @contextmanager
    def writing(self) -> Iterator[Books]:
        """A transaction, with the books as they are; what is added is durable at its end."""
        try:
            with self.file.writing():
                yield self.current()
        except BaseException:
            self._books = Books()  # they may hold what the file does not
            raise

    def add(self, entry: Entry) -> None:
        """One more entry; within `writing`."""
        row = row_of(self._books.number + 1, replace(entry, prev=self._books.head))
        self._books.enter(row.text)
        self.file.add(row)

    def _take(self, row: Row) -> None:
        try:
            entry = self._books.enter(row.text)
            if row != _row(self._books.number, row.text, entry):
                raise InputError("Its columns differ from its text.")
        except InputError as failure:
            raise InputError(
                f"Ledger {self.name!r} was changed or is damaged in entry {row.number}: {failure}"
            ) from failure

    def _refuse_older(self) -> None:
        """What was there once stays there."""
        books = self._books
        if books.number and self.file.hash_at(books.number) != books.head:
            raise InputError(
                f"Ledger {self.name!r} no longer holds what it held a moment ago; it was changed "
                "or restored from an older copy."
            )


def row_of(number: int, entry: Entry) -> Row:
    """An entry as it is stored."""
    return _row(number, entry_text(entry), entry)


def _row(number: int, text: str, entry: Entry) -> Row:
    row = Row(number, text, entry_hash(text))
    if isinstance(entry, Debited):
        return row._replace(run=entry.run, view=entry.view, round=entry.round)
    return row


def begin(path: Path, terms: LedgerTerms) -> None:
    """Write the first entry of an empty file."""
    file = LedgerFile(path)
    try:
        with file.writing():
            file.add(row_of(1, terms))
    finally:
        file.close()
