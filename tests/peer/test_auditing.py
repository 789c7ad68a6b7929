from __future__ import annotations

import sqlite3

import pytest

from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.auditing import audit_run, spent_by
from dpdl.peer.run_folder import PeerRun


def test_a_run_that_ended_well_has_a_clean_audit(ended):
    for k in range(3):
        found = audit_run(ended.home(k), ended.run(k))
        assert found.problems == ()
        assert found.ok
        assert (found.rounds, found.charged, found.violations) == (4, 4, 0)
        assert "ledger of the data set" in found.checked


def test_epsilon_is_computed_again_from_the_ledger(ended):
    manifest = ended.manifest
    for k in range(3):
        with DataLedger.open(ended.home(k).ledger_path("digits")) as ledger:
            assert spent_by(ledger, manifest) == pytest.approx(
                manifest.privacy.epsilon[k], rel=1e-6
            )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE event SET text = 'nothing happened' WHERE rowid = 1",
            "line 1 was changed",
        ),
        (
            "DELETE FROM document WHERE kind = 'approval' AND name = 'vita'",
            "vita is missing",
        ),
        ("UPDATE here SET run = 'ff'", "another run"),
    ],
)
def test_what_was_changed_on_disk_is_found(ended, copied, tmp_path, change, said):
    run = PeerRun(tmp_path / ended.run(0).path.name)
    db = sqlite3.connect(run.path / "run.sqlite")
    db.execute(change)
    db.commit()
    db.close()
    found = audit_run(ended.home(0), run)
    assert not found.ok
    assert any(said in problem for problem in found.problems), found.problems
