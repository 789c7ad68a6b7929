from __future__ import annotations

import shutil
from pathlib import Path

from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.store_reader import StoreReader
from dpdl.peer.unpaid import charge_sent


def test_a_ledger_that_knows_all_rounds_is_not_charged_again(ended):
    ledger = ended.home(0).ledger_path("digits")
    with DataLedger.open(ledger) as found, StoreReader(ended.run(0).path) as store:
        before = found.head
        assert charge_sent(found, store, ended.manifest.hash) == 0
        assert found.head == before


def test_a_ledger_from_a_backup_is_charged_when_the_run_goes_on(group, tmp_path):
    sites = group(2, graph="complete", rounds=4)
    ledger = sites.home(0).ledger_path("digits")
    shutil.copytree(ledger, tmp_path / "backup")
    sites.start(1)
    sites.start(0, ("fetch:after", 5))
    assert sites.ended(0) == -9
    shutil.rmtree(ledger)
    shutil.copytree(tmp_path / "backup", ledger)
    sites.start(0)
    assert set(sites.wait().values()) == {0}, sites.log(0)
    with DataLedger.open(ledger) as found:
        assert found.run(sites.manifest.hash).rounds_spent == 4
    with StoreReader(sites.run(0).path) as store:
        assert any("from a backup" in one.text for one in store.events())


def test_a_ledger_that_is_older_than_what_a_neighbour_was_told_stops_the_peer(
    group, tmp_path
):
    sites = group(2, graph="complete", rounds=6)
    ledger = sites.home(0).ledger_path("digits")
    shutil.copytree(ledger, tmp_path / "backup")
    sites.start(1)
    sites.start(0, ("fetch:after", 4))
    assert sites.ended(0) == -9
    with DataLedger.open(ledger) as found:  # another run on the same records
        charge = found.run(sites.manifest.hash).last
        assert charge is not None
        found.reserve("another", [charge.times(1)], threat="eavesdropper")
        found.debit("another", 0, 1)
    sites.start(0, ("fetch:after", 4))
    assert sites.ended(0) == -9
    shutil.copytree(ledger, tmp_path / "newest")
    replaced(ledger, tmp_path / "backup")
    for _ in range(2):
        sites.start(0)
        assert sites.ended(0) == 3, sites.log(0)
        assert "older than what olav was told of it" in sites.log(0).splitlines()[-1]
    replaced(ledger, tmp_path / "newest")
    sites.start(0)
    assert set(sites.wait().values()) == {0}, sites.log(0)


def replaced(ledger: Path, copy: Path) -> None:
    shutil.rmtree(ledger)
    shutil.copytree(copy, ledger)
