"""A process of the pool: one run, named on standard input, and its news on standard output.

It stops after the round under way when its standard input closes, see `dpdl.studies.pool`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from dpdl.errors import Diverged, DpdlError
from dpdl.folder.ledger import LEDGER, recompute
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan, plan
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.threats import threat
from dpdl.studies.held_out import load_held_out
from dpdl.studies.pool_messages import (
    Ending,
    EndState,
    Going,
    News,
    PooledRun,
    Standing,
    news_line,
)
from dpdl.training.interrupt import Interrupted
from dpdl.training.launch import launch
from dpdl.training.observe import Examiner
from dpdl.training.result import Result
from dpdl.training.train import replan

EVERY = 1.0
"""Seconds between two messages about rounds."""


def main() -> None:
    """Do the run that is read from standard input, and tell the parent how it ended."""
    stop = threading.Event()
    run = PooledRun.from_line(sys.stdin.readline())
    threading.Thread(target=_stop_when_alone, args=(stop,), daemon=True).start()
    _tell(perform(run, stop))


def _stop_when_alone(stop: threading.Event) -> None:
    """Wait until nobody holds the other end of standard input."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    stop.set()


def _tell(news: News) -> None:
    """One line for the parent; that it is gone must not keep the state from being saved."""
    with suppress(OSError):
        sys.stdout.write(f"\n{news_line(news)}\n")
        sys.stdout.flush()


def perform(run: PooledRun, stop: threading.Event) -> Ending:
    """Start or continue a run; how it ended, also if it failed or was asked to stop."""
    try:
        return _performed(run, stop)
    except (KeyboardInterrupt, Interrupted):
        return Ending(EndState.INTERRUPTED)
    except Diverged as failure:
        return Ending(EndState.DIVERGED, error=str(failure))
    except DpdlError as failure:
        return Ending(EndState.FAILED, error=str(failure))


def _performed(run: PooledRun, stop: threading.Event) -> Ending:
    folder = RunFolder(run.folder)
    again = folder.started
    p = _planned(run, again)
    if _reached(run, folder):
        return _paused(p, folder)
    if stop.is_set():  # nothing was begun, so no folder is made
        raise Interrupted("Interrupted before the first round.")
    result = launch(
        p,
        out=folder.path,
        placement="alone",
        watch=_watch(),
        again=again,
        until=run.until,
        stop=stop,
    )
    if isinstance(result, Result):
        return _done(result)
    return _paused(p, folder)


def _planned(run: PooledRun, again: bool) -> Plan:
    e = run.experiment
    data = load_held_out(e) if run.held_out else None
    return replan(run.folder, data=data) if again else plan(e, data=data)


def _reached(run: PooledRun, folder: RunFolder) -> bool:
    """Whether the state that is saved is that of the round to pause after, or later."""
    if run.until is None or run.until >= run.experiment.rounds:
        return False
    last = folder.last()
    return last is not None and last.round >= run.until


def _watch() -> Callable[[int, object], None]:
    """Tells the parent, now and then, which round was done."""
    last = time.monotonic()

    def watch(t: int, metrics: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            _tell(Going(t))

    return watch


def _paused(p: Plan, folder: RunFolder) -> Ending:
    last = folder.last()
    assert last
    examiner = Examiner.of(p.everybody)
    score = float(examiner.scores(last.state["x"], examiner.agents).mean())
    listener = threat(p.experiment.threat)
    spent = recompute(folder.path / LEDGER)[listener.key]
    to_the_end = max(spent, p.privacy.worst(listener))
    reached = Standing(
        round=last.round,
        score=score,
        epsilon=Epsilon(spent),
        epsilon_all_rounds=Epsilon(to_the_end),
        score_name=p.task.score.name,
    )
    return Ending(EndState.PAUSED, reached)


def _done(result: Result) -> Ending:
    summary = result.summary
    listener = threat(result.plan.experiment.threat)
    epsilon = summary.epsilon.against(listener)
    reached = Standing(
        round=summary.rounds,
        score=summary.score.mean,
        epsilon=epsilon,
        epsilon_all_rounds=epsilon,
        stopped=result.stopped,
        score_name=summary.score.name,
    )
    return Ending(EndState.DONE, reached)


if __name__ == "__main__":
    main()
