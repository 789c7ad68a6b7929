"""Metrics for other programs.

A CSV table, or TensorBoard's event files, while a run goes on or afterwards; and trackers of
experiments, which are told about a run while it goes on.
"""

from __future__ import annotations

import csv
import io
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dpdl.errors import InputError, unknown
from dpdl.folder import files, names
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.tensorboard import EventLog
from dpdl.folder.tracked import TrackerSink, Warn
from dpdl.records import JsonObject
from dpdl.trackers import TRACKERS, Trackers, require
from dpdl.trackers.base import Environment, Outcome

FORMATS = {"csv": names.METRICS_TABLE, "tensorboard": names.TENSORBOARD}
"""Files that we write ourselves, and where in a run folder each one is."""


class Sink(Protocol):
    """Takes evaluated rounds, in order. The first call gives all that the run has so far."""

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Write them."""


class Table:
    """A CSV file with one line per evaluated round and one column per number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[Mapping[str, float]] = []
        self._columns: list[str] = []

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Append lines; a new column replaces the file by one that has it."""
        self._rows += rows
        columns = list(
            dict.fromkeys([*self._columns, *(name for row in rows for name in row)])
        )
        if columns == self._columns:
            with self._path.open("ab") as file:
                file.write(self._lines(rows))
            return
        self._columns = columns
        self._path.parent.mkdir(parents=True, exist_ok=True)
        files.write(
            self._path,
            self._lines([dict(zip(columns, columns, strict=True)), *self._rows]),
        )

    def _lines(self, rows: Iterable[Mapping[str, object]]) -> bytes:
        text = io.StringIO()
        csv.DictWriter(text, self._columns, restval="", lineterminator="\n").writerows(
            rows
        )
        return text.getvalue().encode()


class Tracker:
    """Watches a run and writes what it measures, in some formats, and tells some trackers.

    A file that cannot be written ends the run; a tracker that fails does not, and `warn` is given
    a sentence. Whoever makes one calls `finish` or `close` in the end.
    """

    def __init__(
        self,
        run: Path,
        formats: Sequence[str],
        warn: Warn = warnings.warn,
        environment: Environment = os.environ,
        trackers: Trackers = TRACKERS,
    ) -> None:
        self._run = run
        self._formats = [name for name in formats if name in FORMATS]
        self._sinks: list[Sink] | None = None
        self._told = [
            TrackerSink(name, trackers[name], run, environment, warn)
            for name in formats
            if name in trackers
        ]

    def __call__(self, t: int, metrics: Metrics | None) -> None:
        """One round is done.

        The first evaluated one brings along what the run folder has from before.
        """
        if metrics is None:
            return
        rows = [scalars(metrics.to_json())]
        if self._sinks is None:
            files = [
                _sink(name, self._run, self._run / FORMATS[name])
                for name in self._formats
            ]
            self._sinks = [*files, *self._told]
            rows = _rows(self._run)
        for sink in self._sinks:
            sink.add(rows)

    def finish(self) -> None:
        """The run has ended: all has been said, also if no round was left to watch."""
        if self._sinks is None:
            for name in self._formats:
                export(self._run, name)
            for sink in self._told:
                sink.add(_rows(self._run))
        self.close(Outcome.FINISHED)

    def close(self, outcome: Outcome) -> None:
        """This process does no more for the run; a tracker that was told anything is told that."""
        for sink in self._told:
            sink.close(outcome)


def export(run: Path, name: str, out: Path | None = None) -> Path:
    """Write the metrics of a run folder in a format; where they are now."""
    checked(name)
    path = out or run / FORMATS[name]
    RunFolder(run).read()
    rows = _rows(run)
    if not rows:
        raise InputError(f"Run {str(run)!r} has no evaluated round yet.")
    try:
        _sink(name, run, path).add(rows)
    except OSError as failure:
        raise InputError(
            f"{str(path)!r} cannot be written: {failure.strerror or failure}."
        ) from failure
    return path


def formats_in(text: str | None, environment: Environment = os.environ) -> list[str]:
    """The formats and trackers in a list with commas; a tracker must be installed."""
    words = [] if text is None else text.split(",")
    found = list(dict.fromkeys(word.strip() for word in words))
    for name in found:
        if name not in (*FORMATS, *TRACKERS):
            raise unknown("format", name, (*FORMATS, *TRACKERS))
    for name in found:
        if name in TRACKERS:
            require(name, environment)
    return found


def checked(name: str) -> str:
    """A format that we write ourselves."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return name


def scalars(metrics: JsonObject) -> dict[str, float]:
    """The finite numbers in metrics, named like `accuracy/mean`.

    Words such as "unbounded" are left out.
    """
    found: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            found |= {
                f"{name}/{part}": number for part, number in scalars(value).items()
            }
        elif isinstance(value, int | float) and math.isfinite(value):
            found[name] = value
    return found


def _sink(name: str, run: Path, path: Path) -> Sink:
    if name == "csv":
        return Table(path)
    return EventLog(path, RunFolder(run).experiment_path.stat().st_mtime)


def _rows(run: Path) -> list[dict[str, float]]:
    try:
        return [scalars(metrics.to_json()) for metrics in RunFolder(run).metrics()]
    except (OSError, ValueError) as failure:
        raise InputError(
            f"The metrics of run {str(run)!r} cannot be read: {failure}."
        ) from failure
