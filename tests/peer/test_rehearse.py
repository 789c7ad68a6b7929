from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.rehearse import rehearse_file


def test_all_members_run_here_with_random_records_and_spend_nothing(ended, tmp_path):
    with DataLedger.open(ended.home(0).ledger_path("digits")) as ledger:
        before = ledger.head
    said: list[str] = []
    found = rehearse_file(
        ended.path / "manifest.toml", 2, tmp_path / "here", said.append
    )
    assert found.ok
    assert found.audits == ("ok",) * 3
    assert found.members == ended.manifest.names
    assert found.rounds == 2
    assert said
    with DataLedger.open(ended.home(0).ledger_path("digits")) as ledger:
        assert ledger.head == before


def test_what_cannot_be_rehearsed_is_refused(ended, tmp_path):
    manifest = ended.path / "manifest.toml"
    with pytest.raises(InputError, match="rounds must be from 1 to 4"):
        rehearse_file(manifest, 5, None, print)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is not empty"):
        rehearse_file(manifest, 1, tmp_path, print)
    with pytest.raises(InputError, match="cannot be read"):
        rehearse_file(tmp_path / "nowhere.toml", 1, None, print)
