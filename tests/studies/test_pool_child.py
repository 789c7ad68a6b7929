"""What a process of the pool does with its one run."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.experiment.experiment import Experiment
from dpdl.folder.checkpoint import restore
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.studies.held_out import load_held_out
from dpdl.studies.pool_child import main, perform
from dpdl.studies.pool_messages import Ending, EndState, PooledRun, news_in
from dpdl.training.train import train
from tests.studies.long_pool import TINY

PLAIN = replace(TINY, sigma=None, noise="none")


def done(run: PooledRun) -> Ending:
    return perform(run, threading.Event())


def test_a_finished_run_tells_what_it_reached(tmp_path: Path) -> None:
    ending = done(PooledRun(tmp_path / "r", TINY))
    summary = train(TINY).summary
    assert ending.state is EndState.DONE
    assert ending.reached
    assert (ending.reached.round, ending.reached.stopped) == (3, None)
    assert ending.reached.score == summary.score.mean
    assert ending.reached.epsilon == summary.epsilon.against(EAVESDROPPER)
    assert ending.reached.epsilon_all_rounds == ending.reached.epsilon


def test_a_paused_run_tells_what_it_costs_so_far_and_to_the_end(tmp_path: Path) -> None:
    paused = done(PooledRun(tmp_path / "r", TINY, until=1))
    assert paused.state is EndState.PAUSED
    assert paused.reached and paused.reached.round == 1
    spent, total = paused.reached.epsilon, paused.reached.epsilon_all_rounds
    assert spent.finite and total.finite and spent.finite < total.finite
    again = done(PooledRun(tmp_path / "r", TINY, until=1))
    assert again == paused
    assert restore(tmp_path / "r/state.safetensors").round == 1
    end = done(PooledRun(tmp_path / "r", TINY))
    assert end.reached and end.reached.epsilon.finite == pytest.approx(total.finite)


def test_without_noise_nothing_is_proven(tmp_path: Path) -> None:
    paused = done(PooledRun(tmp_path / "r", PLAIN, until=1))
    assert paused.reached and paused.reached.epsilon == UNBOUNDED
    assert paused.reached.epsilon_all_rounds == UNBOUNDED


def test_a_run_of_a_search_is_scored_on_held_out_records(tmp_path: Path) -> None:
    ending = done(PooledRun(tmp_path / "r", TINY, until=3, held_out=True))
    whole = train(TINY, data=load_held_out(TINY))
    assert ending.reached
    assert ending.reached.score == whole.summary.score.mean


def test_a_spent_budget_ends_a_run_early(tmp_path: Path) -> None:
    short = Experiment(
        dataset="digits",
        agents=3,
        batch=8,
        algorithm="dp-dpsgd",
        rounds=10,
        sigma=1.0,
        sampling="fixed",
        budget="8",
    )
    ending = done(PooledRun(tmp_path / "r", short.resolved()))
    assert ending.state is EndState.DONE
    assert ending.reached and ending.reached.stopped
    assert ending.reached.round < 10
    assert ending.reached.epsilon.finite and ending.reached.epsilon.finite <= 8


def test_a_run_that_is_asked_to_stop_before_it_begins_makes_no_folder(
    tmp_path: Path,
) -> None:
    stop = threading.Event()
    stop.set()
    ending = perform(PooledRun(tmp_path / "r", TINY), stop)
    assert ending == Ending(EndState.INTERRUPTED)
    assert not (tmp_path / "r").exists()


def test_failures_are_endings_with_a_reason(tmp_path: Path) -> None:
    wild = done(PooledRun(tmp_path / "w", replace(TINY, lr=1e30, clip=1e9)))
    assert wild.state is EndState.DIVERGED
    assert "choose a smaller lr" in (wild.error or "")
    crowded = done(PooledRun(tmp_path / "c", replace(TINY, agents=900)))
    assert crowded.state is EndState.FAILED
    assert "at most" in (crowded.error or "")


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a pipe that the child reads as its standard input."""
    end, ours = os.pipe()
    with os.fdopen(end) as lines:
        monkeypatch.setattr(sys, "stdin", lines)
        yield ours
        os.close(ours)


def test_the_order_is_read_and_the_end_is_told(
    tmp_path: Path, order: int, capsys
) -> None:
    run = PooledRun(tmp_path / "r", PLAIN, until=1)
    os.write(order, f"{run.to_line()}\n".encode())
    main()
    lines = capsys.readouterr().out.split("\n")
    (ending,) = [news for line in lines if (news := news_in(line))]
    assert ending == done(run)
    assert isinstance(ending, Ending)
    assert ending.reached and ending.reached.epsilon != Epsilon(0.0)
