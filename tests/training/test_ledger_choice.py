"""Which ledger a run pays into."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dpdl
from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.ledger_note import LedgerNote
from dpdl.planning.plan import plan
from dpdl.tasks.data import Dataset
from dpdl.training.ledger_choice import account_of, chosen, own_ledgers
from tests.sites import digits, write_sites
from tests.training.paid import PAID, balance, new_ledger, paid
from tests.training.small import changed

SITES = {"shape": "1,8,8", "predict": "10 classes", "batch": 8, "partition": None}


def options(**more) -> dpdl.Experiment:
    given = {**PAID.as_dict(), **more}
    return dpdl.Experiment(
        **{name: value for name, value in given.items() if value is not None}
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    x, y = digits()
    path = tmp_path / "own.npz"
    np.savez(path, x=x[:400], y=y[:400])
    return path


def test_whoever_uses_data_with_a_ledger_pays_into_it(data: Path) -> None:
    with DataLedger.create(data, 10, 1e-5) as ledger:
        pass
    e = options(dataset=str(data), rounds=3, batch=10, eval_every=3)
    assert own_ledgers(e) == [ledger.folder] == [chosen(e, None, None)]
    dpdl.train(e)
    assert balance(ledger.folder).rounds_spent == 3
    dpdl.train(e, ledger=data)
    with DataLedger.open(data) as ledger:
        assert len(ledger.runs()) == 2


def test_data_without_a_ledger_need_none(data: Path) -> None:
    e = options(dataset=str(data))
    assert own_ledgers(e) == [] and chosen(e, None, None) is None


def test_a_simulation_leaves_the_ledger_of_its_data_alone(data: Path) -> None:
    DataLedger.create(data, 10, 1e-5).close()
    e = options(dataset=str(data), randomness="reproducible")
    assert chosen(e, None, None) is None


def test_data_with_a_ledger_are_paid_for_in_no_other_one(
    data: Path, tmp_path: Path
) -> None:
    DataLedger.create(data, 10, 1e-5).close()
    other = new_ledger(tmp_path)
    with pytest.raises(InputError, match="ledger of their own"):
        chosen(options(dataset=str(data)), other, None)


def test_reproducible_noise_has_nothing_to_account_for(
    blobs: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is for --randomness secure"):
        paid(blobs, new_ledger(tmp_path), changed())


def test_a_ledger_that_is_not_there_is_refused(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dpdl data ledger create"):
        paid(blobs, tmp_path / "none", out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_sites_share_a_ledger_that_is_named_for_all(tmp_path: Path) -> None:
    files, ledger = write_sites(tmp_path), new_ledger(tmp_path, 1000.0)
    dpdl.train(options(sites=tuple(files), rounds=2, **SITES), ledger=ledger)
    assert balance(ledger).rounds_spent == 2


def test_sites_with_ledgers_of_their_own_are_refused(tmp_path: Path) -> None:
    files, ledger = write_sites(tmp_path), new_ledger(tmp_path, 1000.0)
    DataLedger.create(files[3], 10, 1e-5).close()
    e = options(sites=tuple(files), rounds=2, **SITES)
    for named in (None, ledger):
        with pytest.raises(InputError, match="`dpdl peer`"):
            dpdl.train(e, ledger=named)
    for placement in ("alone", "threads:2"):
        with pytest.raises(InputError, match="`dpdl peer`"):
            dpdl.train(e, placement=placement)


def test_a_site_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    files, ledger = write_sites(tmp_path), new_ledger(tmp_path, 1000.0)
    e = options(sites=(*files[:4], f"{tmp_path}/./site0.npz"), rounds=2, **SITES)
    with pytest.raises(InputError, match="given to 2 agents"):
        dpdl.train(e, ledger=ledger)


def test_an_algorithm_that_publishes_records_is_refused(tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path, 1000.0)
    e = options(algorithm="pdsl", validation=50, rounds=2, batch=10)
    with pytest.raises(InputError, match="makes 50 records of the data set public"):
        dpdl.train(e, ledger=ledger)


def test_a_run_goes_on_with_the_ledger_it_noted(tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path)
    with DataLedger.open(ledger) as found:
        note = LedgerNote.new(tmp_path, found)
    assert chosen(PAID, None, note) == ledger
    assert chosen(PAID, None, None) is None


def test_a_new_run_has_an_account_and_no_note_before_it_begins(tmp_path: Path) -> None:
    p = plan(options(batch=10))
    with account_of(p, new_ledger(tmp_path), tmp_path / "run", False) as account:
        assert account is not None and account.run.startswith("run-")
    assert not (tmp_path / "run").exists()
    with account_of(p, None, None, False) as none:
        assert none is None
