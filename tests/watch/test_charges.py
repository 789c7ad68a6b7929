"""A ledger that grows is counted as the whole ledger is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.folder.ledger_content import read
from dpdl.watch.charges import Charges
from tests.watch.growing import Growing


@pytest.fixture
def run(tmp_path: Path) -> Growing:
    return Growing(tmp_path / "run")


def test_it_counts_as_the_whole_ledger_does(run: Growing) -> None:
    charges = Charges(run.ledger)
    charges.refresh()
    assert (charges.charged, charges.last, charges.planned) == (0, 0, 40)
    for first, last in ((1, 5), (4, 9), (10, 10)):  # rounds 4 and 5 are run again
        run.go(first, last)
        assert charges.refresh()
        assert charges.charged == read(run.ledger).charged()
        assert charges.last == last
    assert charges.charged == 10
    assert not charges.refresh()


def test_secure_rounds_that_leave_again_count_again(run: Growing) -> None:
    text = run.ledger.read_text().replace('"reproducible"', '"secure"')
    run.ledger.write_text(text)
    run.go(1, 5)
    run.go(4, 5)
    charges = Charges(run.ledger)
    charges.refresh()
    assert charges.charged == read(run.ledger).charged() == 7


def test_an_extended_run_has_more_rounds(run: Growing) -> None:
    charges = Charges(run.ledger)
    run._charge_line({"rounds": 90})
    charges.refresh()
    assert charges.planned == 90


def test_what_is_damaged_is_named_and_the_rest_kept(run: Growing) -> None:
    run.go(1, 3)
    with run.ledger.open("ab") as file:
        file.write(b'{"square": 4}\n')
    charges = Charges(run.ledger)
    charges.refresh()
    assert charges.wrong == "The ledger is damaged: A line must be a header or a round."
    assert charges.charged == 3


def test_a_new_run_in_the_same_place_begins_anew(run: Growing) -> None:
    run.go(1, 9)
    charges = Charges(run.ledger)
    charges.refresh()
    header = run.ledger.read_bytes().splitlines(keepends=True)[0]
    run.ledger.unlink()
    charges.refresh()
    assert (charges.charged, charges.header) == (0, None)
    run.ledger.write_bytes(header)
    assert charges.refresh()
    assert (charges.charged, charges.planned) == (0, 40)
