"""Messages between a pool and its processes: records, one line of JSON each.

The parent sends a `RunOrder`, the child answers with `News`. A line of the child's standard output
that begins with `MARK` is a message; all other lines are for people. A server that forks children
is asked by a `HEAD` with what it announces, and answers with lines of `ChildProcess`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.scored import label_of, show_score
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Json, Record

MARK = "\x1edpdl "


# ------------------------------------------------------------------ to a child
@final
@dataclass(frozen=True)
class RunOrder(Record):
    """What a child has to run."""

    folder: str
    experiment: Experiment
    until: int | None
    held_out: bool


@final
@dataclass(frozen=True)
class PooledRun:
    """One run to start, or to continue if its folder holds one."""

    folder: Path
    experiment: Experiment  # resolved
    until: int | None = None  # pause after this round; None: go to the end
    held_out: bool = False  # train without, and test on, the records held out

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def to_line(self) -> str:
        """One line of JSON."""
        folder = str(self.folder)
        order = RunOrder(folder, self.experiment, self.until, self.held_out)
        return json.dumps(order.to_json())

    @classmethod
    def from_line(cls, line: str) -> PooledRun:
        """The run that `to_line` wrote down."""
        order = RunOrder.from_json(json.loads(line), "the order of a run")
        folder = Path(order.folder)
        return cls(folder, order.experiment, order.until, order.held_out)


# ------------------------------------------------------------------ to and from a server
HEAD = struct.Struct("!cI")
"""Of a request to a server: its kind, and the length of what follows."""
START, KILL = b"S", b"K"
"""The kinds: start a `ChildPlace`, end a `ChildProcess`."""


@final
@dataclass(frozen=True)
class ChildPlace(Record):
    """Where a child is to work."""

    folder: str
    environment: Mapping[str, str]


@final
@dataclass(frozen=True)
class ChildProcess(Record):
    """A child that was started or has ended."""

    process: int
    code: int | None = None  # that it ended with, -N by signal N; None: it goes on


# ------------------------------------------------------------------ from a child
@final
class EndState(StrEnum):
    """How a run ended."""

    DONE = "done"
    PAUSED = "paused"  # at the round that it was given
    DIVERGED = "diverged"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # before its end; its state is saved

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> EndState:
        """The state of this name."""
        if content not in set(cls):
            raise InputError(f"{where or 'state'} must be one of {', '.join(cls)}.")
        return cls(content)


@final
@dataclass(frozen=True)
class Going(Record):
    """News of a run that goes on: it was started, or has done a round."""

    round: int = 0


@final
@dataclass(frozen=True)
class Standing(Record):
    """What a run that was paused or is done has reached, and what that cost."""

    round: int
    score: float  # mean over agents
    epsilon: Epsilon  # of the rounds so far
    epsilon_all_rounds: Epsilon  # if it goes on to the end
    stopped: str | None = None  # why it is done early: a budget is spent
    score_name: str = "accuracy"

    @property
    def shown(self) -> str:
        """The score, for people."""
        return f"{label_of(self.score_name)} {show_score(self.score_name, self.score)}"


@final
@dataclass(frozen=True)
class Ending(Record):
    """How a run ended, with what it reached or why it did not."""

    state: EndState
    reached: Standing | None = None  # of a run that was paused or is done
    error: str | None = None  # of a run that diverged or failed


News = Going | Ending


def news_line(news: News) -> str:
    """The line of a child's standard output that carries news to the parent."""
    return MARK + json.dumps(news.to_json(), allow_nan=False)


def news_in(line: str) -> News | None:
    """The news in a line of a child's standard output; None in a line for people."""
    if not line.startswith(MARK):
        return None
    content: Json = json.loads(line.removeprefix(MARK))
    if isinstance(content, dict) and "state" in content:
        return Ending.from_json(content, "the end of a run")
    return Going.from_json(content, "news of a run")
