"""The ledger of a data set: one budget for all runs on it."""

from __future__ import annotations

import math
import random
import time
from pathlib import Path

import pytest

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Charge
from dpdl.privacy.accounting import epsilon
from tests.folder.data_ledgers import LARGE, ROUND, made, process

MANY = ROUND.times(1000)
"""A quarter of an epsilon of 1."""
HALF = Charge(sigma=8.09, batch=216, records=6000, count=1000)


@pytest.fixture
def ledger(tmp_path: Path):
    with made(tmp_path) as found:
        yield found


# ------------------------------------------------------------------ one budget
def test_a_new_ledger_has_spent_nothing(tmp_path: Path) -> None:
    data = tmp_path / "lungs.npz"
    data.write_bytes(b"")
    with DataLedger.create(data, 6, 1e-6, about="CT scans") as ledger:
        found = ledger.epsilon()
        assert (found.spent, found.reserved) == (0, 0)
        assert (found.budget, found.delta) == (6, 1e-6)
        assert ledger.terms.about == "CT scans"
        assert ledger.terms.relation == "add-remove"
        assert ledger.folder == tmp_path / "lungs.npz.dpdl-ledger"
        assert ledger.entries() == [ledger.terms]
    with DataLedger.open(data) as again:
        assert again.terms == ledger.terms


def test_runs_are_composed_not_added(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    ledger.reserve("b", [HALF])
    steps = [(MANY.step, 1000), (HALF.step, 1000)]
    assert ledger.epsilon().reserved == pytest.approx(epsilon(steps, 1e-5), rel=1e-9)
    assert 0.5 < ledger.epsilon().reserved < 0.75


def test_a_run_that_does_not_fit_is_refused_and_nothing_is_entered(
    ledger: DataLedger,
) -> None:
    ledger.reserve("a", [HALF])
    before = ledger.head
    with pytest.raises(PrivacyRefused, match=r"room for \d+ of its 4000 rounds"):
        ledger.reserve("b", [HALF.times(4000)])
    assert ledger.head == before and ledger.run("b").rounds_left == 0


def test_the_promise_holds_whatever_runs_do(tmp_path: Path) -> None:
    draw = random.Random(7)
    with made(tmp_path, 2.0) as ledger:
        for k in range(12):
            run = f"run {draw.randrange(6)}"
            sigma, rounds = draw.choice([15.0, 25.0, 60.0]), draw.randrange(1, 60)
            charge = Charge(sigma=sigma, batch=1, records=1, count=rounds)
            try:
                action = draw.randrange(4)
                if action == 0:
                    ledger.reserve(run, [charge])
                elif action == 1:
                    ledger.replace_reservation(run, k, [charge])
                elif action == 2:
                    ledger.release(run)
                for t in range(draw.randrange(5)):
                    ledger.debit(run, max(k, ledger.run(run).view), t)
            except (InputError, PrivacyRefused):
                continue
        found = ledger.epsilon()
        assert 0 < found.spent <= found.reserved <= 2.0
        assert ledger.verify() == ledger.head


def test_a_debit_spends_what_was_reserved(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    reserved = ledger.epsilon().reserved
    for t in range(1, 11):
        assert ledger.debit("a", 0, t)
    found = ledger.epsilon()
    assert found.spent == pytest.approx(epsilon([(ROUND.step, 10)], 1e-5))
    assert found.reserved == reserved, "the sum is the same"
    assert ledger.run("a").rounds_left == 990


def test_a_round_is_paid_once_in_a_view(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    assert ledger.debit("a", 0, 1) is True
    head = ledger.head
    assert ledger.debit("a", 0, 1) is False
    assert ledger.head == head and ledger.run("a").rounds_spent == 1
    assert ledger.debit("a", 1, 1) is True, "the same round of a later view is another"


def test_a_round_without_a_reservation_does_not_leave(ledger: DataLedger) -> None:
    with pytest.raises(PrivacyRefused, match="nothing reserved for round 1"):
        ledger.debit("a", 0, 1)
    ledger.reserve("a", [ROUND.times(2)])
    ledger.debit("a", 0, 1)
    ledger.debit("a", 0, 2)
    with pytest.raises(PrivacyRefused, match="round 3"):
        ledger.debit("a", 0, 3)


def test_a_finished_run_returns_the_rest(ledger: DataLedger) -> None:
    ledger.reserve("a", [HALF])
    ledger.debit("a", 0, 1)
    assert ledger.release("a") == 999
    assert ledger.epsilon().reserved == ledger.epsilon().spent
    assert ledger.release("a") == 0
    with pytest.raises(PrivacyRefused):
        ledger.debit("a", 0, 2)
    ledger.reserve("b", [HALF])


def test_who_withdraws_has_not_begun(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    ledger.withdraw("a")
    assert ledger.epsilon().reserved == 0
    ledger.reserve("a", [MANY])
    ledger.debit("a", 0, 1)
    with pytest.raises(InputError, match="1 of its rounds are spent"):
        ledger.withdraw("a")


def test_asking_again_for_the_same_changes_nothing(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    head = ledger.head
    ledger.reserve("a", [MANY])
    assert ledger.head == head
    with pytest.raises(InputError, match="has a reservation"):
        ledger.reserve("a", [HALF])
    ledger.debit("a", 0, 1)
    with pytest.raises(InputError, match="has a reservation"):
        ledger.reserve("a", [MANY])


# ------------------------------------------------------------------ views
def test_a_later_view_has_a_reservation_of_its_own(ledger: DataLedger) -> None:
    ledger.reserve("a", [MANY])
    ledger.debit("a", 0, 1)
    ledger.replace_reservation("a", 1, [HALF.times(500)])
    assert ledger.run("a").left == [HALF.times(500)]
    assert ledger.run("a").rounds_spent == 1
    with pytest.raises(InputError, match="went on with view 1"):
        ledger.debit("a", 0, 2)
    assert ledger.debit("a", 0, 1) is False, "what was paid stays paid"
    assert ledger.debit("a", 1, 2)
    with pytest.raises(InputError, match="view 1 cannot follow"):
        ledger.replace_reservation("a", 1, [MANY])


def test_a_view_without_room_leaves_the_old_reservation(ledger: DataLedger) -> None:
    ledger.reserve("a", [HALF])
    with pytest.raises(PrivacyRefused):
        ledger.replace_reservation("a", 1, [LARGE])
    assert ledger.run("a").left == [HALF] and ledger.debit("a", 0, 1)


def test_the_old_reservation_makes_room_for_the_new_one(ledger: DataLedger) -> None:
    most = HALF.times(3000)
    ledger.reserve("a", [most])
    ledger.replace_reservation("a", 1, [most])
    with pytest.raises(PrivacyRefused):
        ledger.reserve("b", [HALF])


# ------------------------------------------------------------------ older than what left
def test_all_up_to_a_round_can_be_counted_as_spent(ledger: DataLedger) -> None:
    ledger.reserve("a", [ROUND.times(10)])
    ledger.debit("a", 0, 1)
    assert ledger.spent_up_to("a", 0, 7) == 6
    assert ledger.run("a").rounds_spent == 7 and ledger.run("a").rounds_left == 3
    assert ledger.spent_up_to("a", 0, 7) == 0
    assert ledger.spent_up_to("a", 1, 12) == 5, "also beyond what was reserved"
    assert ledger.run("a").rounds_spent == 12 and ledger.run("a").rounds_left == 0
    assert ledger.verify() == ledger.head


def test_a_run_that_the_ledger_forgot_is_counted_even_beyond_the_budget(
    ledger: DataLedger,
) -> None:
    with pytest.raises(InputError, match="does not know the run"):
        ledger.spent_up_to("a", 0, 3)
    assert ledger.spent_up_to("a", 0, 3, LARGE) == 3
    assert ledger.epsilon().spent > 1.0
    with pytest.raises(PrivacyRefused, match="room for 0"):
        ledger.reserve("b", [ROUND])


# ------------------------------------------------------------------ what is refused
def test_another_relation_is_refused(tmp_path: Path) -> None:
    with made(tmp_path, relation="replace-one") as ledger:
        ledger.reserve("a", [ROUND], relation="replace-one")
        with pytest.raises(InputError, match="about replace-one, not add-remove"):
            ledger.reserve("b", [ROUND], relation="add-remove")
        with pytest.raises(InputError, match="about replace-one, not add-remove"):
            ledger.replace_reservation("a", 1, [ROUND], relation="add-remove")


def test_the_relation_decides_what_a_round_costs(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with made(tmp_path) as one, made(tmp_path / "b", relation="replace-one") as two:
        one.reserve("a", [HALF])
        with pytest.raises(PrivacyRefused):
            two.reserve("a", [HALF])


def test_batches_that_cannot_be_accounted_for_are_refused(ledger: DataLedger) -> None:
    fixed = Charge(sigma=20.0, batch=2, records=100, fixed=True)
    with pytest.raises(InputError, match="replace-one only"):
        ledger.reserve("a", [fixed])
    assert ledger.epsilon().reserved == 0


@pytest.mark.parametrize("run", ["", "a\nb", "x" * 300])
def test_a_run_has_a_name(ledger: DataLedger, run: str) -> None:
    with pytest.raises(InputError, match="name of a run"):
        ledger.reserve(run, [ROUND])


@pytest.mark.parametrize(
    "budget",
    [(0, 1e-5), (-1, 1e-5), (math.inf, 1e-5), (math.nan, 1e-5), (1, 0), (1, 1)],
)
def test_what_is_no_budget_is_refused_and_nothing_is_made(
    tmp_path: Path, budget: tuple[float, float]
) -> None:
    with pytest.raises(InputError, match="budget"):
        DataLedger.create(tmp_path / "x", *budget)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_is_made_once(tmp_path: Path) -> None:
    made(tmp_path).close()
    with pytest.raises(InputError, match="already"):
        made(tmp_path, 100.0)


# ------------------------------------------------------------------ several processes
RESERVING = """
import sys
from dpdl.errors import PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Charge

path, run = sys.argv[1:]
with DataLedger.open(path) as ledger:
    try:
        ledger.reserve(run, [Charge(20.0, 1, 1, count=10)])
        for t in range(1, 5):
            ledger.debit(run, 0, t)
    except PrivacyRefused:
        print("refused")
    else:
        print("reserved")
"""


def test_processes_that_race_never_exceed_the_budget(ledger: DataLedger) -> None:
    racers = [process(RESERVING, ledger.folder, f"run {k}") for k in range(3)]
    said = sorted(racer.communicate(timeout=120)[0].strip() for racer in racers)
    # Twice ten rounds compose to 0.82, thrice to 1.02.
    assert said == ["refused", "reserved", "reserved"]
    assert 0.8 < ledger.epsilon().reserved <= 1.0
    assert [run.rounds_spent for run in ledger.runs().values()] == [4] * 2
    assert ledger.verify() == ledger.head


DEBITING = """
import sys
from dpdl.folder.data_ledger import DataLedger

with DataLedger.open(sys.argv[1]) as ledger:
    for t in range(int(sys.argv[2]), 100_000):
        print("before", t, flush=True)
        ledger.debit("a", 0, t)
        print("paid", t, flush=True)
"""


def test_what_was_paid_stays_paid_whenever_a_process_is_killed(tmp_path: Path) -> None:
    draw = random.Random(3)
    with made(tmp_path, 100.0) as ledger:
        ledger.reserve("a", [ROUND.times(100_000)])
    asked = paid = 0
    for _ in range(6):
        victim = process(DEBITING, ledger.folder, paid + 1)
        first = victim.stdout.readline()
        time.sleep(draw.uniform(0, 0.15))
        victim.kill()
        said = first + victim.communicate()[0]
        for line in said.splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # it was killed while it wrote
            word, t = line.split()
            asked, paid = max(asked, int(t)), int(t) if word == "paid" else paid
        with DataLedger.open(ledger.folder) as found:
            assert paid <= found.run("a").rounds_spent <= max(asked, paid)
            assert found.verify() == found.head
    assert paid > 3, "some rounds were paid between the kills"
