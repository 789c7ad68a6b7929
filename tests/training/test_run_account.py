"""A run pays for every round, from the budget of its data, before anything of it leaves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import dpdl
from dpdl.errors import Diverged, InputError, PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.folder.ledger_note import LedgerNote
from dpdl.privacy.accounting import epsilon
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from dpdl.training.launch import launch
from dpdl.training.run_account import RunAccount, costliest, most_rounds
from tests.folder.ledgers import Crash, crash_at, resume
from tests.training.paid import PAID, balance, new_ledger, paid, spent
from tests.training.small import StopAt, planned, train


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return new_ledger(tmp_path)


def with_options(**options) -> dpdl.Experiment:
    return dpdl.Experiment(**{**PAID.as_dict(), **options})


# ------------------------------------------------------------------ what a run costs
def test_a_run_costs_what_its_result_says(blobs: Dataset, ledger: Path) -> None:
    result = paid(blobs, ledger)
    proven = result.summary.epsilon.proven["eavesdropper"].value
    assert spent(ledger) == pytest.approx(proven, rel=1e-9)
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (12, 0)


def test_a_round_is_paid_before_anything_of_it_leaves(
    blobs: Dataset, ledger: Path
) -> None:
    done, early = [0], []

    def leaves(leaving) -> None:
        if balance(ledger).rounds_spent < done[0] + 1:
            early.append(done[0] + 1)

    def watch(t: int, metrics) -> None:
        done[0] = t

    p = planned(blobs, with_options(rounds=4))
    launch(
        p,
        out=None,
        placement="alone",
        watch=watch,
        observers=[leaves],
        ledger=ledger,
    )
    assert done == [4] and early == []


def test_runs_on_the_same_data_add_up(blobs: Dataset, ledger: Path) -> None:
    steps = []
    for sigma in (30.0, 40.0):
        e = with_options(sigma=sigma)
        paid(blobs, ledger, e)
        model = planned(blobs, e).privacy
        steps.append((costliest(model, EAVESDROPPER, 1e-5), 12))
    assert spent(ledger) == pytest.approx(epsilon(steps, 1e-5), rel=1e-9)


def test_a_run_without_room_is_refused_and_leaves_no_folder(
    blobs: Dataset, tmp_path: Path
) -> None:
    ledger = new_ledger(tmp_path, 0.1)
    with pytest.raises(PrivacyRefused, match=r"room for \d+ of its 12 rounds"):
        paid(blobs, ledger, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with LedgerReader.open(ledger) as reader:
        assert reader.runs() == {}


def test_a_run_without_noise_is_refused(blobs: Dataset, ledger: Path) -> None:
    with pytest.raises(PrivacyRefused, match="unbounded"):
        paid(blobs, ledger, with_options(noise="none", sigma=None))


def test_threads_pay_once(blobs: Dataset, ledger: Path) -> None:
    paid(blobs, ledger, placement="threads:2")
    assert balance(ledger).rounds_spent == 12


def test_another_relation_is_refused(blobs: Dataset, ledger: Path) -> None:
    with pytest.raises(InputError, match="about add-remove, not replace-one"):
        paid(blobs, ledger, with_options(relation="replace-one"))


def test_where_one_agent_releases_in_a_round_a_record_pays_for_its_own(
    blobs: Dataset, ledger: Path
) -> None:
    # Such an algorithm is for simulations so far; the account would be right for it.
    e = with_options(algorithm="async-dpsgd", rounds=40, randomness="reproducible")
    plan = planned(blobs, e).public
    model = plan.privacy
    counts = [model.algorithm.disclosure.rounds(plan.graph, i, 40) for i in range(5)]
    with DataLedger.open(ledger) as found:
        account = RunAccount(found, plan, None, LedgerNote.new(None, found))
        with account.paying(0, 40):
            for t in range(1, 41):
                account.debit(t)
    assert balance(ledger).rounds_spent == max(counts) < 40
    assert spent(ledger) == pytest.approx(model.worst(EAVESDROPPER), rel=1e-9)
    assert most_rounds(model, 0, 40) == max(counts)
    assert most_rounds(model, 20, 40) <= max(counts)
    assert most_rounds(model, 40, 40) == 0


def test_the_charge_dominates_every_agent(blobs: Dataset) -> None:
    e = with_options(
        algorithm="dpdl-sound",
        graph="star",
        partition="quantity",
        batch=20,
        alpha_d=2.0,
    )
    model = planned(blobs, e).privacy
    charged = costliest(model, EAVESDROPPER, 1e-6)
    steps = [model.step(i, EAVESDROPPER, 1e-6) for i in range(5)]
    assert len({step.sigma for step in steps}) > 1
    assert len({step.records for step in steps}) > 1
    worst = epsilon([(charged, 12)], 1e-6)
    assert all(worst >= epsilon([(step, 12)], 1e-6) for step in steps)
    assert all(charged.sigma <= step.sigma for step in steps)
    assert all(charged.rate >= step.rate for step in steps)


# ------------------------------------------------------------------ crashes and resumption
def test_a_round_that_is_run_again_is_charged_again(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Crash):
        paid(blobs, ledger, out=run, watch=crash_at(8))
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (8, 4), "it keeps its reservation"
    result = resume(run, blobs)  # it knows its ledger
    # The last state is that after round 6: rounds 7 and 8 leave twice.
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (14, 0)
    proven = result.summary.epsilon.proven["eavesdropper"].value
    assert spent(ledger) == pytest.approx(proven, rel=1e-9)


def test_when_repetitions_do_not_fit_the_run_is_refused_until_it_has_fewer_rounds(
    blobs: Dataset, tmp_path: Path
) -> None:
    model = planned(blobs, PAID).privacy
    enough = epsilon([(costliest(model, EAVESDROPPER, 1e-5), 12)], 1e-5)
    ledger, run = new_ledger(tmp_path, enough), tmp_path / "run"
    with pytest.raises(Crash):
        paid(blobs, ledger, out=run, watch=crash_at(8))
    with pytest.raises(PrivacyRefused, match="room for 4 of its 6 rounds"):
        resume(run, blobs)
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (8, 4), "nothing was changed"
    resume(run, blobs, rounds=10)
    assert balance(ledger).rounds_spent == 12
    assert spent(ledger) <= enough


def test_who_presses_ctrl_c_keeps_the_reservation_and_pays_nothing_twice(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        paid(blobs, ledger, out=run, watch=StopAt(5))
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (5, 7)
    resume(run, blobs)
    assert balance(ledger).rounds_spent == 12


def test_more_rounds_are_reserved_when_a_run_is_extended(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    paid(blobs, ledger, out=run)
    resume(run, blobs, rounds=15)
    assert balance(ledger).rounds_spent == 15
    resume(run, blobs)  # it has ended
    assert balance(ledger).rounds_spent == 15


def test_a_run_that_ends_early_returns_the_rest(blobs: Dataset, ledger: Path) -> None:
    def enough(t: int, metrics) -> None:
        if t == 4:
            raise dpdl.Stop

    paid(blobs, ledger, callbacks=[enough])
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (4, 0)


def test_a_run_that_diverged_returns_the_rest(blobs: Dataset, ledger: Path) -> None:
    with pytest.raises(Diverged):
        paid(blobs, ledger, with_options(lr=1e90, rounds=200))
    found = balance(ledger)
    assert found.rounds_left == 0 and 0 < found.rounds_spent < 200


def test_a_budget_of_agents_ends_the_run_and_returns_the_rest(
    blobs: Dataset, ledger: Path
) -> None:
    result = paid(blobs, ledger, with_options(budget="0.1"))
    assert result.stopped and result.summary.rounds < 12
    found = balance(ledger)
    assert (found.rounds_spent, found.rounds_left) == (result.summary.rounds, 0)


def test_who_loses_the_reservation_stops_before_the_next_round_and_can_go_on(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"

    def take_away(t: int, metrics) -> None:
        if t == 5:
            with DataLedger.open(ledger) as found:
                found.release(next(iter(found.runs())))

    with pytest.raises(PrivacyRefused, match="round 6 of the run"):
        paid(blobs, ledger, out=run, watch=take_away)
    assert balance(ledger).rounds_spent == 5
    resume(run, blobs)
    assert balance(ledger).rounds_spent == 12, "the state was saved: nothing ran twice"


def test_of_two_starts_of_one_run_the_later_one_goes_on(
    blobs: Dataset, ledger: Path
) -> None:
    plan = planned(blobs, PAID).public
    with DataLedger.open(ledger) as one, DataLedger.open(ledger) as two:
        note = LedgerNote.new(None, one)
        first = RunAccount(one, plan, None, note)
        second = RunAccount(two, plan, None, note)
        first.begin(0, 12)
        first.debit(1)
        second.begin(0, 12)
        second.debit(1)
        with pytest.raises(InputError, match="may no longer leave"):
            first.debit(2)
        second.debit(2)
        assert one.run(note.run).rounds_spent == 3


# ------------------------------------------------------------------ old and other ledgers
def test_a_ledger_that_was_restored_is_refused(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"

    def keep(t: int, metrics) -> None:
        if t == 4:
            shutil.copytree(ledger, copy)
        if t == 8:
            raise Crash

    with pytest.raises(Crash):
        paid(blobs, ledger, out=run, watch=keep)
    shutil.rmtree(ledger)
    copy.rename(ledger)
    with pytest.raises(InputError, match="older than run"):
        resume(run, blobs)


def test_a_ledger_that_lacks_only_what_came_after_the_last_round_is_refused(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"

    def keep(t: int, metrics) -> None:
        if t == 11:
            shutil.copytree(ledger, copy)
            raise dpdl.Stop  # the rest is returned, which the copy does not know

    paid(blobs, ledger, out=run, watch=keep)
    assert balance(copy).rounds_spent == balance(ledger).rounds_spent == 11
    with pytest.raises(InputError, match="older than run"):
        resume(run, blobs, rounds=15, ledger=copy)


def test_a_ledger_from_before_the_run_is_refused(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"
    shutil.copytree(ledger, copy)
    with pytest.raises(Interrupted):
        paid(blobs, ledger, out=run, watch=StopAt(1))
    with pytest.raises(InputError, match="older than run"):
        resume(run, blobs, ledger=copy)


def test_another_ledger_is_refused(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    other.mkdir()
    with pytest.raises(Interrupted):
        paid(blobs, ledger, out=run, watch=StopAt(1))
    with pytest.raises(InputError, match="not the one that run"):
        resume(run, blobs, ledger=new_ledger(other))
    ledger.rename(tmp_path / "moved")
    with pytest.raises(InputError, match="no ledger at"):
        resume(run, blobs)
    resume(run, blobs, ledger=tmp_path / "moved")


def test_a_run_that_began_without_a_ledger_is_refused(
    blobs: Dataset, ledger: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(blobs, PAID, out=run, watch=StopAt(1))
    with pytest.raises(InputError, match="started without a ledger"):
        resume(run, blobs, ledger=ledger)


def test_the_delta_of_the_ledger_is_the_one_that_counts(
    blobs: Dataset, tmp_path: Path
) -> None:
    ledger = new_ledger(tmp_path)
    e = replace(PAID, delta=1e-3)
    result = paid(blobs, ledger, e)
    assert spent(ledger) > result.summary.epsilon.proven["eavesdropper"].value
