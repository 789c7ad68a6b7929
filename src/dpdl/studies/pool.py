"""A small pool: many runs, some of them at once, each in a process of its own.

Each run has an interpreter, not a share of one: nothing was computed in it before, it has its own
number of cores, and what ends one process (a crash, no memory, `kill -9`) ends one run. How a child
is started is in `dpdl.studies.pool_start`, what it does in `dpdl.studies.pool_child`.

A child reads on its standard input what to run, and that pipe stays open. When it closes, the child
finishes its round, saves its state and leaves. So one rule serves two cases: Ctrl-C, on which the
parent closes the pipes, and the sudden death of the parent, on which the operating system does.
Children are sessions of their own, so that a Ctrl-C on the terminal reaches the parent alone and
asks every child once. A second one kills them; files are replaced as a whole, so what was saved
stays.

Nothing passes through temporary files: with a full disk a child still says what happened, on its
standard output. The messages are in `dpdl.studies.pool_messages`.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from dpdl.errors import InputError
from dpdl.parallel import cores
from dpdl.studies.pool_messages import (
    Ending,
    EndState,
    Going,
    News,
    PooledRun,
    news_in,
)
from dpdl.studies.pool_start import StartChild, StartedChild, start_child
from dpdl.training.interrupt import interruptible

PoolWatch = Callable[[str, News], None]
"""Called with a run's name and what is new of it; the last news are its ending."""


class RunMany(Protocol):
    """Whatever can do what `run_many` does."""

    def __call__(
        self, runs: Sequence[PooledRun], jobs: int, watch: PoolWatch
    ) -> Mapping[str, Ending]:
        """Run them all; how each ended, by its name."""


def run_many(
    runs: Sequence[PooledRun],
    jobs: int,
    watch: PoolWatch,
    stop: threading.Event | None = None,
    start: StartChild = start_child,
) -> dict[str, Ending]:
    """All runs, `jobs` at a time, in order; how each ended, by its name.

    One that fails does not stop the others. When `stop` is set, by Ctrl-C too, those that go on are
    asked to stop and no more are started.
    """
    with interruptible(stop) as asked:
        pool = _Pool(runs, jobs, watch, start)
        try:
            while pool.going or (pool.waiting and not asked.is_set()):
                if asked.is_set():
                    pool.ask_to_stop()
                else:
                    pool.start()
                pool.listen()
        finally:
            pool.kill()
    left = {run.name: Ending(EndState.INTERRUPTED) for run in pool.waiting}
    return pool.endings | left


def at_once(jobs: int | None, runs: int, available: int | None = None) -> int:
    """How many runs go on at the same time: as asked for, or one for every available core."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, not {jobs}.")
    return max(1, min(jobs or available or cores(), runs))


Heard = queue.Queue[tuple[str, str | None]]
"""Names of runs with the lines that they wrote; None: its process has ended."""


class _Pool:
    """The runs that wait, those that go on, and those that have ended."""

    def __init__(
        self,
        runs: Sequence[PooledRun],
        jobs: int,
        watch: PoolWatch,
        start: StartChild,
    ) -> None:
        self.waiting = deque(runs)
        self.going: dict[str, _Child] = {}
        self.endings: dict[str, Ending] = {}
        self._jobs = jobs
        self._watch = watch
        self._start = start
        self._heard: Heard = queue.Queue()
        self._stopping = False

    def start(self) -> None:
        """Start runs while fewer than `jobs` go on."""
        share = max(1, cores() // max(1, self._jobs))
        environment = {**os.environ, "DPDL_CORES": str(share)}
        while self.waiting and len(self.going) < self._jobs:
            run = self.waiting.popleft()
            process = self._start(environment)
            self.going[run.name] = _Child(run, process, self._heard)
            self._watch(run.name, Going())

    def ask_to_stop(self) -> None:
        """Ask all that go on to stop after their round."""
        self._stopping = True
        for child in self.going.values():
            child.ask_to_stop()

    def listen(self) -> None:
        """Wait a moment for one line, and pass on what it says."""
        try:
            name, line = self._heard.get(timeout=0.1)
        except queue.Empty:
            return
        if line is None:
            ending = self.going.pop(name).ending(self._stopping)
            self.endings[name] = ending
            self._watch(name, ending)
        elif news := self.going[name].hear(line):
            self._watch(name, news)

    def kill(self) -> None:
        """End all that go on."""
        for child in self.going.values():
            child.kill()


class _Child:
    """A process that does one run, seen from the parent."""

    def __init__(self, run: PooledRun, process: StartedChild, heard: Heard) -> None:
        self._ending: Ending | None = None
        self._last_line = ""
        self._process = process
        with suppress(BrokenPipeError):  # it is gone already, which `ending` says
            process.orders.write(run.to_line() + "\n")
            process.orders.flush()
        threading.Thread(
            target=self._listen, args=(run.name, heard), daemon=True
        ).start()

    def _listen(self, name: str, heard: Heard) -> None:
        with self._process.news as lines:
            for line in lines:
                heard.put((name, line))
        self._process.wait()
        heard.put((name, None))

    def hear(self, line: str) -> Going | None:
        """One line that it wrote: that it goes on is given back, all else is kept."""
        news = news_in(line)
        if isinstance(news, Going):
            return news
        if news is None:
            self._last_line = line.strip() or self._last_line
        else:
            self._ending = news
        return None

    def ending(self, stopping: bool) -> Ending:
        """How it ended, by what it said last or by its exit code."""
        self.ask_to_stop()  # closes the pipe
        if self._ending:
            return self._ending
        if stopping:
            return Ending(EndState.INTERRUPTED)
        code = self._process.wait()
        if code < 0:
            why = f"Its process was killed by signal {-code}."
        else:
            why = f"Its process ended with exit code {code}: {self._last_line}"
        return Ending(EndState.FAILED, error=why)

    def ask_to_stop(self) -> None:
        """Close its input, on which it stops after its round."""
        with suppress(OSError):
            self._process.orders.close()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()
        self.ask_to_stop()  # closes the pipe
