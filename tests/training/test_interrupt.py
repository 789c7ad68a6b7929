"""Runs that are asked to pause or to stop: by a round, an event, a deadline or a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import Diverged, RunFailed
from dpdl.folder.checkpoint import restore
from dpdl.planning.plan import Plan, plan
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted, deadline, interruptible
from dpdl.training.launch import launch
from dpdl.training.result import Paused, Result
from dpdl.training.train import replan
from tests.conftest import small_module
from tests.training.small import SMALL, changed, train, without_time

END = SMALL.rounds


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Whatever a test does with signals, it leaves none of it."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


def planned(blobs: Dataset, experiment: dpdl.Experiment = SMALL) -> Plan:
    return plan(experiment, data=blobs, model=small_module())


def again(blobs: Dataset, folder: Path) -> Plan:
    return replan(folder, data=blobs, model=small_module())


def go(p: Plan, folder: Path | None, **more) -> Result | Paused | None:
    options = {"placement": "alone", "watch": None, **more}
    return launch(p, out=folder, **options)


# ---------------------------------------------------------------- until
@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_a_run_that_is_paused_goes_on_as_if_it_had_not_been(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    folder = tmp_path / "run"
    where = {"placement": placement}
    assert go(planned(blobs), folder, until=5, **where) == Paused(5)
    assert restore(folder / "state.safetensors").round == 5
    assert not (folder / "summary.json").exists()
    # A line for the header, and one for every round that was done: the sixth was not charged.
    assert len((folder / "ledger.jsonl").read_text().splitlines()) == 1 + 5
    later = go(again(blobs, folder), folder, until=8, again=True, **where)
    assert later == Paused(8)
    result = go(again(blobs, folder), folder, again=True, **where)
    whole = train(blobs)
    assert isinstance(result, Result)
    assert torch.equal(result.models, whole.models)
    assert without_time(result.metrics) == without_time(whole.metrics)
    assert without_time(result.summary) == without_time(whole.summary)


@pytest.mark.parametrize("until", [END, END + 1])
def test_a_round_to_pause_after_that_is_not_before_the_end_changes_nothing(
    blobs: Dataset, until: int
) -> None:
    result = go(planned(blobs), None, until=until)
    assert isinstance(result, Result)
    assert torch.equal(result.models, train(blobs).models)


def test_a_run_that_is_further_than_the_round_to_pause_after_stays_where_it_is(
    blobs: Dataset, tmp_path: Path
) -> None:
    go(planned(blobs), tmp_path / "run", until=5)
    ledger = (tmp_path / "run/ledger.jsonl").read_text()
    found = go(again(blobs, tmp_path / "run"), tmp_path / "run", until=3, again=True)
    assert found == Paused(5)
    assert (tmp_path / "run/ledger.jsonl").read_text() == ledger
    assert restore(tmp_path / "run/state.safetensors").round == 5


def test_pausing_is_not_evaluating(blobs: Dataset) -> None:
    seen = []
    found = go(
        planned(blobs),
        None,
        until=5,
        watch=lambda t, metrics: seen.append((t, metrics is not None)),
    )
    assert found == Paused(5)
    assert seen == [(1, True), (2, False), (3, False), (4, True), (5, False)]


def test_a_run_whose_budget_ends_before_the_pause_is_finished(blobs: Dataset) -> None:
    p = planned(blobs, changed(algorithm="dpdl-sound", sigma=2.0, budget="1.2"))
    assert p.allowance and p.allowance.rounds < END - 1
    result = go(p, None, until=END - 1)
    assert isinstance(result, Result)
    assert result.stopped
    assert result.summary["rounds"] == p.allowance.rounds


# ---------------------------------------------------------------- events
@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_an_event_stops_a_run_after_its_round(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    stop = threading.Event()

    def watch(t: int, metrics) -> None:
        if t == 5:
            stop.set()

    with pytest.raises(Interrupted, match=r"after round 5 of 12.*dpdl resume"):
        go(
            planned(blobs),
            tmp_path / "run",
            stop=stop,
            watch=watch,
            placement=placement,
        )
    assert restore(tmp_path / "run/state.safetensors").round == 5


def test_nothing_is_charged_when_the_event_was_set_before(
    blobs: Dataset, tmp_path: Path
) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted, match="after round 0"):
        go(planned(blobs), tmp_path / "run", stop=stop)
    assert len((tmp_path / "run/ledger.jsonl").read_text().splitlines()) == 1


def test_a_signal_sets_the_event_that_was_given(blobs: Dataset) -> None:
    stop = threading.Event()

    def watch(t: int, metrics) -> None:
        if t == 2:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted):
        go(planned(blobs), None, stop=stop, watch=watch)
    assert stop.is_set()


def test_the_second_signal_stops_at_once() -> None:
    with interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_one_signal_after_a_deadline_is_the_first() -> None:
    over = threading.Event()
    over.set()
    with interruptible(over) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop is over


def test_a_deadline_sets_its_event_and_sends_no_signal() -> None:
    with deadline(0.001) as over:
        assert over.wait(30)


def test_a_deadline_in_time_leaves_no_thread() -> None:
    before = threading.active_count()
    with deadline(60) as over, deadline(None) as never:
        assert not over.is_set()
        assert not never.is_set()
    time.sleep(0.05)
    assert threading.active_count() <= before
    assert not over.is_set()


# ---------------------------------------------------------------- types
def test_a_failure_keeps_its_type_when_more_is_said_about_it() -> None:
    failure = Diverged("Training diverged.")
    more = type(failure)(f"Trial 3: {failure}")
    assert isinstance(more, Diverged)
    assert isinstance(more, RunFailed)
    assert more.exit_code == RunFailed.exit_code
    assert str(more) == "Trial 3: Training diverged."
