"""The entries of the ledger of a data set."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.folder.data_ledger_entries import (
    Charge,
    Debited,
    LedgerTerms,
    Released,
    Reserved,
    check_name,
    entry_hash,
    entry_of,
    entry_text,
    now,
)
from dpdl.privacy.accounting import Step
from tests.folder.data_ledgers import ROUND

TERMS = LedgerTerms(
    version="1",
    id="ab",
    epsilon=6.0,
    delta=1e-6,
    relation="add-remove",
    about="x",
    time="now",
)
ENTRIES = [
    TERMS,
    Reserved(
        run="r", view=0, charges=(ROUND.times(7),), threat="eavesdropper", time="t"
    ),
    Debited(run="r", view=1, round=3, charge=ROUND),
    Debited(run="r", view=1, round=3, charge=ROUND, beyond=True),
    Released(run="r", time="t"),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: type(e).__name__)
def test_an_entry_is_read_as_it_was_written(entry) -> None:
    assert entry_of(entry_text(entry)) == entry


@given(
    st.builds(
        Step,
        sigma=st.floats(0, 1e6),
        batch=st.integers(1, 100),
        records=st.integers(100, 10**6),
        fixed=st.booleans(),
        lost=st.floats(0, 1),
        adaptive=st.booleans(),
    ),
    st.integers(1, 10**6),
)
def test_a_charge_is_the_step_of_the_accountant_to_the_last_bit(
    step: Step, count: int
) -> None:
    entry = Reserved(
        run="r",
        view=0,
        charges=(Charge.of(step, count),),
        threat="eavesdropper",
        time="t",
    )
    (charge,) = entry_of(entry_text(entry)).charges
    assert charge.step == step and charge.count == count


@pytest.mark.parametrize(
    "wrong",
    [
        {"sigma": math.inf},
        {"sigma": math.nan},
        {"sigma": -1.0},
        {"batch": 0},
        {"records": 0},
        {"lost": 2.0},
        {"count": 0},
        {"count": 10**12},
        {"fixed": True, "batch": 9, "records": 8},
    ],
    ids=str,
)
def test_what_is_no_round_is_no_charge(wrong: dict) -> None:
    with pytest.raises(InputError):
        Charge(**{"sigma": 1.0, "batch": 1, "records": 10, **wrong})


@given(st.text(max_size=200))
def test_any_text_is_an_entry_or_refused(text: str) -> None:
    with pytest.raises(InputError):
        entry_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        '{"kind": "gift"}',
        '{"kind": 7}',
        '{"kind": "debit"}',
        '{"kind": null}',
    ],
)
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        entry_of(text)


def test_a_hash_is_of_every_byte() -> None:
    text = entry_text(TERMS)
    assert len(entry_hash(text)) == 64
    assert entry_hash(text) != entry_hash(text + " ")


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, "\x1b[31m"])
def test_a_name_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match="one line"):
        check_name("about", name)


def test_the_time_has_a_zone() -> None:
    assert now().endswith("+00:00")
