"""Where a run stands at this site; read from its files, so that it disturbs nothing."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.foreign import read_json
from dpdl.peer.approvals import KIND as APPROVAL
from dpdl.peer.auditing import spent_by
from dpdl.peer.consent import own_member
from dpdl.peer.home import Home
from dpdl.peer.own_metrics import OwnMetrics
from dpdl.peer.plan import first_view
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.store_reader import DATABASE, StoreReader
from dpdl.peer.trouble import Trouble
from dpdl.peer.views import OVER, current_view
from dpdl.records import Record, absent

EVERY = 1.0
"""Seconds between two words of a running process about itself."""
STALE = 5 * EVERY
"""Seconds after which nobody believes them."""


@final
@dataclass(frozen=True)
class Waiting(Record):
    """A member that does not answer."""

    name: str
    since: str
    why: str


@final
@dataclass(frozen=True)
class Pulse(Record):
    """What the running process says of itself: `private/status.json`."""

    pid: int
    time: float
    waiting: tuple[Waiting, ...]


@final
@dataclass(frozen=True, kw_only=True)
class PeerStatus(Record):
    """Where a run stands."""

    run: str
    site: str
    running: bool
    approved: tuple[str, ...]
    round: int  # that has begun
    rounds: int
    view: int
    members: tuple[str, ...]
    epsilon: float  # spent by this run, against the agreed threat
    waiting: tuple[Waiting, ...]
    alarm: str | None = absent()
    score: float | None = absent()  # the site's own; no epsilon covers it

    def shareable(self) -> PeerStatus:
        """The same without what is computed from private records without noise."""
        return _without_score(self)

    def line(self) -> str:
        """For people."""
        if len(self.approved) < len(self.members) and not self.round:
            missing = [name for name in self.members if name not in self.approved]
            return f"{self.run[:12]}: waits for the approval of {', '.join(missing)}"
        state = "" if self.running else ", not running"
        done = min(self.round, self.rounds)
        text = f"{self.run[:12]}: round {done} of {self.rounds}, epsilon {self.epsilon:.4g}"
        for one in self.waiting:
            text += f", waiting for {one.name} since {one.since[11:16]}"
        return text + ("" if self.round > self.rounds else state)

    def prometheus(self) -> str:
        """For a collector of text files."""
        labels = f'{{site="{self.site}",run="{self.run[:12]}"}}'
        values = {
            "round": self.round,
            "rounds": self.rounds,
            "epsilon": self.epsilon,
            "view": self.view,
            "running": int(self.running),
            "waiting": len(self.waiting),
            "alarm": int(self.alarm is not None),
        }
        return "".join(f"dpdl_peer_{n}{labels} {v}\n" for n, v in values.items())


def status_of(home: Home, run: PeerRun) -> PeerStatus:
    """From the files of a run."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    pulse = _pulse(run)
    view, here_round = first_view(manifest), 0
    approved: tuple[str, ...] = ()
    if (run.path / DATABASE).exists():
        with StoreReader(run.path) as store:
            here_round = store.here.round
            approved = tuple(store.documents(APPROVAL))
            view = current_view(manifest, view, store.documents(OVER))
    with DataLedger.open(home.ledger_path(member.data)) as ledger:
        spent = spent_by(ledger, manifest)
    measured = OwnMetrics(run.metrics).read()
    waiting = pulse.waiting if pulse else ()
    return PeerStatus(
        run=manifest.hash,
        site=home.name,
        running=pulse is not None,
        approved=approved,
        round=here_round,
        rounds=manifest.experiment_of().rounds,
        view=view.number,
        members=view.names,
        epsilon=spent,
        waiting=waiting,
        alarm=alarm_of(waiting, manifest.rules.alarm_minutes),
        score=measured[-1].value if measured else None,
    )


def _without_score(status: PeerStatus) -> PeerStatus:
    return PeerStatus.from_json(
        {name: one for name, one in status.to_json().items() if name != "score"}
    )


def alarm_of(waiting: tuple[Waiting, ...], minutes: int) -> str | None:
    """Who has not answered for longer than was agreed."""
    now = datetime.now(UTC)
    for one in waiting:
        if (now - datetime.fromisoformat(one.since)).total_seconds() > 60 * minutes:
            return f"{one.name} has not answered for more than {minutes} minutes."
    return None


def _pulse(run: PeerRun) -> Pulse | None:
    """What the process says, if it has lately."""
    try:
        found = Pulse.from_json(read_json(run.status_file), str(run.status_file))
    except (OSError, ValueError, InputError):
        return None
    return found if time.time() - found.time < STALE else None


@final
class PulseWriter:
    """A thread that says every second that the process is there, and whom it waits for."""

    def __init__(
        self,
        file: Path,
        trouble: Callable[[], Mapping[str, Trouble]],
        every: float = EVERY,
    ) -> None:
        self._file, self._trouble, self._every = file, trouble, every
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> PulseWriter:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._end.set()
        self._thread.join()
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    def _beat(self) -> None:
        while True:
            waiting = tuple(
                Waiting(name, _moment(one.since), one.sentence)
                for name, one in self._trouble().items()
            )
            pulse = Pulse(os.getpid(), time.time(), waiting)
            # Not made durable: it says something about this second only. On a full disk it is left
            # out; what must be on disk stops the run where it is written.
            new = self._file.with_suffix(".new")
            with suppress(OSError):
                new.write_text(json.dumps(pulse.to_json()), "utf-8")
                new.replace(self._file)
            if self._end.wait(self._every):
                return


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
