"""Trackio: a database in the run folder, `trackio/dpdl.db`, or a Space or server of its variables.

`TRACKIO_DIR=RUN/trackio trackio show --project dpdl` shows it. Three things are worked around:

- It reads `TRACKIO_DIR` once, when it is imported. So one process tracks runs of one folder.
- It asks Hugging Face for the user's name, and would send a token that lies on the machine. Where
  nothing is to be sent it is told that there is no network.
- It writes in a thread, twice a second, and swallows what fails there. So the database is asked
  what it has, before the first round and after the last.
"""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from contextvars import copy_context
from pathlib import Path
from typing import Any, final

from dpdl.trackers.base import (
    PROJECT,
    About,
    Destination,
    Entries,
    Entry,
    Environment,
    Outcome,
    TrackerFailed,
)

FOLDER = "TRACKIO_DIR"
SERVERS = (
    "TRACKIO_SPACE_ID",
    "TRACKIO_SERVER_URL",
    "TRACKIO_BUCKET_ID",
    "TRACKIO_DATASET_ID",
)
REPORT = "report"
"""Under which the summary is shown."""


@final
class Trackio:
    """Opens runs of Trackio."""

    def libraries(self, environment: Environment) -> Sequence[str]:
        """One."""
        return ("trackio",)

    def destination(self, environment: Environment) -> Destination:
        """A Space or a server, without a token in its address; otherwise a folder."""
        servers = [environment[name] for name in SERVERS if environment.get(name)]
        if servers:
            return Destination(servers[0].partition("?")[0], sends=True)
        return Destination(environment.get(FOLDER) or Destination().where)

    def open(self, about: About, environment: Environment) -> TrackioSession:
        """Begin, or go on under the name that the run has: a name is what Trackio resumes by."""
        sends = self.destination(environment).sends
        with silence(), nullcontext() if sends else no_network():
            library = _library(Path(environment.get(FOLDER) or about.home))
            # In a context of its own: at exit it would close, and talk about, what is closed.
            run = copy_context().run(
                library.init,
                project=PROJECT,
                name=about.id or f"{about.name}-{uuid.uuid4().hex[:8]}",
                resume="allow",  # it may have been killed before it wrote anything
                config=dict(about.options),
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )
        asked = not sends and library.utils.get_storage_mode() == "sqlite"
        return TrackioSession(library, run, None if asked else about.kept)


def _library(folder: Path) -> Any:
    """Imported so that it writes into this folder; refused if it has another one already."""
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = str(folder.resolve())
    try:
        import trackio
    finally:
        os.environ.pop(FOLDER)
        os.environ |= {} if before is None else {FOLDER: before}
    found = Path(trackio.utils.TRACKIO_DIR)
    if found.resolve() != folder.resolve():
        raise TrackerFailed(
            f"in this process it writes to {str(found)!r}; set {FOLDER} before it starts"
        )
    return trackio


@contextmanager
def silence() -> Iterator[None]:
    """Without its words on standard output, which may be read by a program."""
    with redirect_stdout(io.StringIO()):
        yield


@contextmanager
def no_network() -> Iterator[None]:
    """Let the library of Hugging Face believe that there is none."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@final
class TrackioSession:
    """One open run; `kept` is None where the database can be asked."""

    def __init__(self, library: Any, run: Any, kept: int | None) -> None:
        self._library = library
        self._run = run
        self._told = kept
        self._last = self.kept

    @property
    def id(self) -> str:
        """Its name."""
        return str(self._run.name)

    @property
    def kept(self) -> int:
        """What the database has; on a server, what was told before."""
        if self._told is not None:
            return self._told
        from trackio.sqlite_storage import SQLiteStorage

        run = self._run
        found = SQLiteStorage.get_max_step_for_run(run.project, run.name, run_id=run.id)
        return int(found or 0)

    def log(self, t: int, values: Mapping[str, float]) -> None:
        """Metrics at step t."""
        self._run.log(dict(values), step=t)
        self._last = t

    def close(self, outcome: Outcome, summary: Entries) -> None:
        """The summary becomes a report; Trackio has no place for an outcome but that."""
        entries = {"outcome": outcome.value, **summary}
        report = self._library.Markdown(table(entries))
        with silence():
            self._run.log({REPORT: report}, step=self._last)
            self._run.finish()
        if self._told is not None:
            self._told = self._last
        elif self.kept < self._last:
            raise TrackerFailed(f"its database ends with round {self.kept}")


def table(entries: Entries) -> str:
    """Names and values in Markdown."""
    rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in entries.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def _cell(value: Entry) -> str:
    return str(value).replace("|", "\\|")
