"""Where the ledger of a data set is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger_place import (
    beside,
    folder_for,
    ledger_folder,
    new_ledger_folder,
)


def test_a_data_file_has_its_ledger_beside_it(tmp_path: Path) -> None:
    data = tmp_path / "lungs.npz"
    data.write_bytes(b"")
    folder = tmp_path / "lungs.npz.dpdl-ledger"
    assert beside(data) == folder_for(data) == folder
    assert folder_for(folder) == folder
    assert folder_for(folder / "ledger.sqlite") == folder


def test_a_path_without_a_ledger_is_refused_with_the_remedy(tmp_path: Path) -> None:
    data = tmp_path / "lungs.npz"
    data.write_bytes(b"")
    with pytest.raises(InputError, match="dpdl data ledger create"):
        ledger_folder(data)
    with pytest.raises(InputError, match="no ledger at"):
        ledger_folder(tmp_path)


def test_a_new_folder_is_there_at_the_end_or_never(tmp_path: Path) -> None:
    path = tmp_path / "x.dpdl-ledger"
    with pytest.raises(RuntimeError), new_ledger_folder(path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with new_ledger_folder(path) as made:
        assert not path.exists() and made.parent == tmp_path
    assert [one.name for one in tmp_path.iterdir()] == ["x.dpdl-ledger"]
    assert ledger_folder(path) == path
    assert path.stat().st_mode & 0o700 == 0o700


def test_what_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.dpdl-ledger"
    with new_ledger_folder(path):
        pass
    with pytest.raises(InputError, match="already"), new_ledger_folder(path):
        pass
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"), new_ledger_folder(other):
        pass
    assert (other / "mine.txt").read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "x.dpdl-ledger"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be made"):  # noqa: SIM117
        with new_ledger_folder(tmp_path / "none" / "x"):
            pass
