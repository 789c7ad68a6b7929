"""What a tracker is told about a run, whichever program it is.

A tracker is a library of others that keeps the metrics of many runs. It keeps them in the run
folder, unless its own environment variables name another place: we add no setting to them.

Privacy: losses and scores are computed from records without noise. Whoever sends them to a server
discloses what no epsilon covers; `Destination.sends` says when that is so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol, final

PROJECT = "dpdl"
"""What runs are filed under, unless the tracker's own variables say otherwise."""
HERE = "run folder"
"""The destination of a tracker whose variables name none."""

Environment = Mapping[str, str]
Entry = str | int | float | bool | None
Entries = Mapping[str, Entry]
"""Options of a run, or its summary, by name."""


class Outcome(Enum):
    """How a run, or the part of it that this process made, ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class TrackerFailed(Exception):
    """A tracker that cannot go on, with a reason that fits into a sentence."""


@final
@dataclass(frozen=True)
class Destination:
    """Where a tracker keeps what it is told."""

    where: str = HERE
    sends: bool = False  # whether that is a server


@final
@dataclass(frozen=True)
class About:
    """What a tracker needs to know before the first round."""

    name: str  # of the run
    home: Path  # the tracker's own folder in the run folder
    began: float  # when the run began, in seconds since 1970
    options: Entries
    id: str | None = None  # what the tracker calls this run; None: it does not know it
    kept: int = 0  # the last round that the tracker surely has


class Session(Protocol):
    """A run that a tracker has open. Any call may raise: the caller goes on without it."""

    @property
    def id(self) -> str:
        """What the tracker needs to find the run again."""

    @property
    def kept(self) -> int:
        """The last round that is surely kept, even if this process is killed now."""

    def log(self, t: int, values: Mapping[str, float]) -> None:
        """The numbers of round t; rounds come in order, each of them once."""

    def close(self, outcome: Outcome, summary: Entries) -> None:
        """No more rounds come; returns when all of them are kept."""


class Service(Protocol):
    """One of the trackers that there are."""

    def libraries(self, environment: Environment) -> Sequence[str]:
        """What has to be installed, by the names they are imported by."""

    def destination(self, environment: Environment) -> Destination:
        """Where the tracker's own variables, and nothing else, send what it is told."""

    def open(self, about: About, environment: Environment) -> Session:
        """Import the library, and begin or go on with a run."""


def unless_said(**defaults: str) -> None:
    """Variables for a library that is about to be imported; those a person has set stay."""
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
