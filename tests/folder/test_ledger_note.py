"""What a run remembers of the ledger of its data."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger_entries import check_name
from dpdl.folder.ledger_note import LedgerNote
from tests.folder.data_ledgers import made


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert LedgerNote.of(tmp_path) is None
    with made(tmp_path) as ledger:
        note = LedgerNote.new(tmp_path / "my run", ledger)
        assert (note.ledger, note.head) == (ledger.terms.id, ledger.head)
    note.write(tmp_path)
    assert LedgerNote.of(tmp_path) == note
    assert Path(note.path).is_absolute() and note.run.startswith("my_run-")


def test_two_runs_never_have_the_same_name(tmp_path: Path) -> None:
    with made(tmp_path) as ledger:
        found = {LedgerNote.new(None, ledger).run for _ in range(20)}
    assert len(found) == 20


@pytest.mark.parametrize("name", ["a\nb", "x" * 255, "ä\x1b"])
def test_any_folder_gives_a_name_that_a_ledger_takes(tmp_path: Path, name: str) -> None:
    with made(tmp_path) as ledger:
        check_name("run", LedgerNote.new(Path(name), ledger).run)


def test_a_damaged_note_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data-ledger.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        LedgerNote.of(tmp_path)
