"""The privacy ledger of a run: what was released, by whom, to whom, with which noise.

The first line of `ledger.jsonl` holds the mechanism. Every further line is one round, written
before anything of it is sent: debit first. A round that a crash interrupted is therefore charged.
Lines are only ever added, each with the hash of the line before it (`dpdl.folder.ledger_lines` has
the format). A round that is run again is entered again: with reproducible randomness the same bytes
leave once more, which reveals nothing new and costs nothing; with secure randomness it is a new
release, and both lines count. A run goes on with the mechanism of its ledger or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpdl import __version__
from dpdl.errors import InputError, reason
from dpdl.folder import files, names
from dpdl.folder.ledger_content import LedgerContent, read
from dpdl.folder.ledger_cost import (
    cost,
    effective,
    neighbours_of,
    options_of,
    rows_of,
    weights_of,
)
from dpdl.folder.ledger_lines import (
    FORMAT,
    OPTIONS,
    START,
    ChargedCentre,
    ChargedRound,
    Header,
    Line,
    PlannedRounds,
    line_hash,
)
from dpdl.foreign import read_bytes
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.threats import threat
from dpdl.records import Json
from dpdl.text import VALUE

LEDGER = names.LEDGER


def header(p: PublicPlan) -> Header:
    """The mechanism of every agent, and all options that change what leaves."""
    e, model, factors = p.experiment, p.privacy, p.noise_factors
    listeners = model.listeners(threat(e.threat))
    return Header(
        ledger=FORMAT,
        version=__version__,
        rounds=e.rounds,
        **{name: getattr(e, name) for name in OPTIONS},
        records=model.records,
        parameters=model.size,
        sigma=model.sigma,
        noise_factors=None if factors is None else rows_of(factors),
        neighbours=neighbours_of(p.graph),
        weights=weights_of(p.graph),
        releases=p.releases,
        sigma_eff={str(t): tuple(effective(model, t)) for t in listeners},
        options=options_of(e),
    )


class Ledger:
    """The file, on process 0. It only grows."""

    def __init__(self, path: Path, plan: PublicPlan, repeatable: bool) -> None:
        """`repeatable`: whether a round that is run again leaves with the same bytes."""
        self._path = path
        self._plan = plan
        self._repeatable = repeatable
        self._left: set[int] = set()
        self.centres = 0  # how often the centre of features has left
        self.head = START

    def open(self, done: int) -> int:
        """Start, or go on after round `done`; how many rounds are charged."""
        before = going_on(self._path, self._plan)
        if before is None:
            line = self._next(header(self._plan))
            files.write(self._path, line)
            return 0
        self._mend(before)
        content = read(self._path)
        self.head = content.head
        self._left = {entry.round for entry in content.entries}
        self.centres = content.centre_lines
        rounds = self._plan.experiment.rounds
        if content.format < FORMAT:
            self._add(replace(header(self._plan), above=content.sha256), durable=True)
        elif content.rounds != rounds:
            self._add(PlannedRounds(rounds), durable=True)
        return read(self._path).charged(done)

    def debit(self, t: int) -> None:
        """Round t is about to leave."""
        graph, disclosure = self._plan.graph, self._plan.algorithm.disclosure
        agents = range(len(graph))
        paying = tuple(i for i in agents if disclosure.active(graph, i, t))
        line = ChargedRound(
            t,
            agents=paying if len(paying) < len(graph) else None,
            again=True if t in self._left else None,
        )
        self._left.add(t)
        # fsync: losing this line would under-count epsilon.
        self._add(line, durable=not self._repeatable)

    def debit_centre(self) -> None:
        """The centre of all features is about to leave."""
        self._add(
            ChargedCentre(again=True if self.centres else None),
            durable=not self._repeatable,
        )
        self.centres += 1

    def _add(self, line: Line, durable: bool) -> None:
        with self._path.open("ab") as file:
            file.write(self._next(line))
            file.flush()
            if durable:
                os.fsync(file.fileno())

    def _next(self, line: Line) -> bytes:
        content = json.dumps(replace(line, prev=self.head).to_json()).encode()
        self.head = line_hash(content)
        return content + b"\n"

    def _mend(self, content: LedgerContent) -> None:
        """Drop what a crash cut off behind the last whole line.

        It was not charged, and nothing of it had left.
        """
        if self._path.stat().st_size > content.size:
            os.truncate(self._path, content.size)
        if not content.closed:
            with self._path.open("ab") as file:
                file.write(b"\n")


def going_on(path: Path, plan: PublicPlan) -> LedgerContent | None:
    """The ledger that a plan goes on with; None: there is none yet.

    One of another mechanism is refused.
    """
    # Without a whole line not even the header was written.
    if not path.exists() or b"\n" not in _bytes(path):
        return None
    content, run = read(path), path.parent
    if content.breaks:
        raise InputError(
            f"Ledger {str(path)!r} was changed: line {content.breaks[0]} does not follow "
            "the line before; the run cannot go on with it."
        )
    for name, before, after in _differences(content.header, header(plan)):
        raise InputError(
            f"Run {str(run)!r} was started with {_change(name, before, after)}; undo "
            f"that. To extend a run: dpdl resume {run} --rounds N."
        )
    check_rounds(run, content, plan.experiment.rounds)
    return content


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure


def check_rounds(run: Path, content: LedgerContent, rounds: int) -> None:
    """Refuse to end a run before a round that has left."""
    least = max(1, content.last)
    if rounds < least:
        raise InputError(
            f"Run {str(run)!r} has run {content.last} rounds: rounds must be at least "
            f"{least}, not {rounds}."
        )


def recompute(path: Path) -> dict[str, float]:
    """The largest epsilon over the agents, per threat, from the ledger alone.

    Infinity where nothing bounds it.
    """
    return cost(read(path))


MECHANISM = (
    *OPTIONS,
    "sigma",
    "records",
    "neighbours",
    "weights",
    "noise_factors",
    "parameters",
)


def _differences(before: Header, now: Header) -> Iterator[tuple[str, Json, Json]]:
    """What a ledger's header states and a plan does not; what format 1 left out is not compared."""
    stated, planned = before.to_json(), now.to_json()
    for name in MECHANISM:
        if name in stated and stated[name] != planned[name]:
            yield name, stated[name], planned[name]
    options = now.options or {}
    for name, value in (before.options or {}).items():
        if name in options and value != options[name]:
            yield name, value, options[name]


def _change(name: str, before: Json, after: Json) -> str:
    """What was and what is, with values if they are short."""
    name = "graph" if name in ("neighbours", "weights") else name
    if max(len(repr(before)), len(repr(after))) > VALUE:
        return f"another {name} than its experiment.json now gives"
    return f"{name} = {before!r}, but its experiment.json now gives {after!r}"
