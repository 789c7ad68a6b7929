"""One tracker that is told about a run, without ever being able to harm it.

What the tracker calls the run, and the last round that it surely has, are kept in its folder in the
run folder: `dpdl resume --track` goes on with the same run there, and tells what is missing.

Trackers take seconds to start, and minutes when their server is gone. So each is told in a thread
of its own, and training does not wait; only the end of the command does. A tracker that fails is
left alone for the rest of the process, with one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import final

from dpdl.errors import InputError, reason
from dpdl.folder import files, names
from dpdl.folder.run_folder import RunFolder
from dpdl.records import JsonObject, Record
from dpdl.text import sentence
from dpdl.trackers.base import (
    About,
    Entries,
    Entry,
    Environment,
    Outcome,
    Service,
    Session,
    TrackerFailed,
)

REASON = 200
"""Characters of what a tracker says when it fails."""
LEFT_OUT = ("run_dir",)
"""Of a summary: where on this machine the run is, is nobody's business."""

PATIENCE = 5.0
"""Seconds to wait for a tracker in the end before a person is told what is waited for."""

Warn = Callable[[str], None]
Job = Callable[[], None]


@final
@dataclass(frozen=True)
class Tracked(Record):
    """What a tracker calls a run, and how far it knows it."""

    where: str  # the tracker keeps it
    id: str
    round: int  # the last one that it surely has


@final
class TrackerSink:
    """Tells a tracker what the run folder has, each round once.

    The tracker is opened when there is something to tell. Whatever it does, nothing is raised.
    """

    def __init__(
        self,
        name: str,
        service: Service,
        run: Path,
        environment: Environment,
        warn: Warn,
    ) -> None:
        self._name = name
        self._service = service
        self._run = run
        self._environment = environment
        self._warn = warn
        self._thread: Thread | None = None
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._session: Session | None = None
        self._last = 0  # round that the session was told
        self._failed = False

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Tell the rounds that the tracker does not have; returns at once."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(lambda: self._tell(rows))

    def close(self, outcome: Outcome, patience: float = PATIENCE) -> None:
        """Say how it ended, and wait until the tracker has all; after `patience`, say so."""
        if self._thread is None:
            return
        self._jobs.put(lambda: self._end(outcome))
        self._jobs.put(None)
        try:
            self._wait(self._thread, patience)
        except KeyboardInterrupt:  # not for the run, which is over
            self._failed = True
            self._warn(f"{self._name} was left. {self._later()}")
        self._thread = None

    def _wait(self, thread: Thread, patience: float) -> None:
        thread.join(patience)
        if thread.is_alive():
            self._warn(f"Waiting for {self._name}; Ctrl-C leaves it.")
            thread.join()

    # ------------------------------------------------------------------ in the thread
    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if self._failed:
                continue
            try:
                job()
            except BaseException as failure:  # nothing of it may reach training
                self._failed = True
                self._warn(self._farewell(failure))

    def _farewell(self, failure: BaseException) -> str:
        why = sentence(reason(failure), REASON)
        return f"{self._name} failed, and is told no more: {why}. {self._later()}"

    def _later(self) -> str:
        return (
            f"The run loses nothing; tell {self._name} later with: dpdl resume {self._run} "
            f"--track {self._name}"
        )

    def _tell(self, rows: Sequence[Mapping[str, float]]) -> None:
        session = self._session = self._session or self._open()
        for row in rows:
            t = int(row["round"])
            if t > self._last:
                session.log(t, {name: n for name, n in row.items() if name != "round"})
                self._last = t
        self._remember(session)

    def _end(self, outcome: Outcome) -> None:
        if self._session is not None:
            self._session.close(outcome, self._summary(outcome))
            self._remember(self._session)

    def _open(self) -> Session:
        self._home.mkdir(exist_ok=True)
        session = self._service.open(self._about(), self._environment)
        self._last = session.kept
        self._remember(session)  # a process that is killed now goes on with this run
        return session

    def _about(self) -> About:
        folder = RunFolder(self._run)
        about = About(
            name=self._run.resolve().name,
            home=self._home,
            began=folder.experiment_path.stat().st_mtime,
            options=flat(folder.experiment().to_json()),
        )
        known = self._known()
        # Another place has not heard of the run.
        if known is None or known.where != self._where:
            return about
        return replace(about, id=known.id, kept=known.round)

    def _known(self) -> Tracked | None:
        path = self._home / names.TRACKED
        if not path.exists():
            return None
        try:
            return files.read_record(Tracked, path)
        except InputError as failure:
            raise TrackerFailed(
                f"{reason(failure)}; remove it, and the run is told anew"
            ) from failure

    def _remember(self, session: Session) -> None:
        now = Tracked(self._where, session.id, session.kept)
        if now != self._known():
            files.write_json(self._home / names.TRACKED, now)

    def _summary(self, outcome: Outcome) -> Entries:
        if outcome is not Outcome.FINISHED:
            return {}
        found = flat(RunFolder(self._run).summary().to_json())
        return {name: one for name, one in found.items() if name not in LEFT_OUT}

    @property
    def _home(self) -> Path:
        return self._run / self._name

    @property
    def _where(self) -> str:
        return self._service.destination(self._environment).where


def flat(content: JsonObject) -> dict[str, Entry]:
    """All values by their path, such as `epsilon/neighbour`; a list as a text."""
    found: dict[str, Entry] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            inner = flat(value)
            found |= {f"{name}/{part}": one for part, one in inner.items()}
        else:
            found[name] = str(value) if isinstance(value, list) else value
    return found
