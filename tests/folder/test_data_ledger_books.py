"""What entries add up to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.folder.data_ledger_books import Books, added, steps_of
from dpdl.folder.data_ledger_entries import (
    Debited,
    Entry,
    LedgerTerms,
    Released,
    Reserved,
    entry_text,
)
from tests.folder.data_ledgers import LARGE, ROUND

TERMS = LedgerTerms(
    version="1",
    id="ab",
    epsilon=6.0,
    delta=1e-6,
    relation="add-remove",
    about="x",
    time="t",
)


def reserved(run: str = "r", view: int = 0, *charges) -> Reserved:
    return Reserved(
        run=run,
        view=view,
        charges=charges or (ROUND.times(3),),
        threat="eavesdropper",
        time="t",
    )


def debited(round: int, run: str = "r", charge=ROUND, **more) -> Debited:
    return Debited(run=run, view=0, round=round, charge=charge, **more)


def books(*entries: Entry) -> Books:
    found = Books()
    for entry in (TERMS, *entries):
        found.enter(entry_text(replace(entry, prev=found.head)))
    return found


def test_a_debit_turns_a_part_of_a_reservation_into_spending() -> None:
    before, after = books(reserved()), books(reserved(), debited(1))
    assert before.run("r").rounds_left == 3 and before.run("r").rounds_spent == 0
    assert after.run("r").rounds_left == 2 and after.run("r").rounds_spent == 1
    assert before.committed() == after.committed() == {ROUND.step: 3}
    assert before.spent == {} and after.spent == {ROUND.step: 1}


def test_a_release_returns_what_is_left_and_nothing_else() -> None:
    after = books(reserved(), debited(1), Released(run="r", time="t"))
    assert after.committed() == after.spent == {ROUND.step: 1}


def test_charges_are_spent_in_their_order() -> None:
    entries = [reserved("r", 0, ROUND, LARGE), debited(1), debited(2, charge=LARGE)]
    assert books(*entries).run("r").left == []
    with pytest.raises(InputError, match="reserved for"):
        books(entries[0], debited(1, charge=LARGE))


def test_a_round_beyond_the_reservation_counts() -> None:
    found = books(debited(1, beyond=True))
    assert found.spent == {ROUND.step: 1} and found.run("r").last == ROUND


def test_all_runs_count_but_the_one_that_releases() -> None:
    found = books(reserved("a"), reserved("b", 0, LARGE), debited(1, "a"))
    assert found.committed() == {ROUND.step: 3, LARGE.step: 1}
    assert found.committed(releasing="a") == {ROUND.step: 1, LARGE.step: 1}
    assert found.run("c").rounds_left == 0 and found.run("c").last is None


@pytest.mark.parametrize(
    "entries",
    [
        [TERMS],
        [debited(1)],
        [reserved(), reserved()],
        [reserved("r", 3), Released(run="r", time="t"), reserved("r", 2)],
        [reserved(), *(debited(t) for t in range(1, 5))],
    ],
    ids=["terms again", "unreserved", "over another", "earlier view", "one too many"],
)
def test_what_does_not_follow_is_refused(entries: list[Entry]) -> None:
    with pytest.raises(InputError):
        books(*entries)


def test_an_entry_has_the_hash_of_the_one_before() -> None:
    found = books(reserved())
    with pytest.raises(InputError, match="follow"):
        found.enter(entry_text(debited(1)))
    assert found.number == 2, "what is refused is not entered"


def test_the_terms_come_first_and_are_of_our_format() -> None:
    with pytest.raises(InputError, match="first"):
        Books().enter(entry_text(reserved()))
    with pytest.raises(InputError, match="another version"):
        Books().enter(entry_text(replace(TERMS, ledger=2)))
    with pytest.raises(InputError, match="no terms"):
        _ = Books().terms


def test_totals_add_up_by_step() -> None:
    one = steps_of([ROUND, LARGE.times(2), ROUND.times(4)])
    assert one == {ROUND.step: 5, LARGE.step: 2}
    assert added(one, {LARGE.step: 1}) == {ROUND.step: 5, LARGE.step: 3}
