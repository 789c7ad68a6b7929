"""The privacy ledger of a run: what was released, by whom, to whom, with which noise.

The first line of `ledger.jsonl` holds the mechanism. Every further line is one round, written
before anything of it is sent: debit first. A round that a crash interrupted therefore stays on the
bill. Lines are only ever added, each with the hash of the line before it (`dpdl.folder.book` has
the format). A round that is run again is entered again: with reproducible randomness the same bytes
leave once more, which reveals nothing new and costs nothing; with secure randomness it is a new
release, and both lines count. A run goes on with the mechanism of its ledger or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.folder import files, names
from dpdl.folder.bill import BY_NAME, bill, options_of, weights_of
from dpdl.folder.book import FORMAT, START, Book, line_hash, read
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.threats import DEFAULT_THREATS, threat

LEDGER = names.LEDGER


def header(p: PublicPlan) -> dict[str, Any]:
    """The mechanism of every agent, and all options that change what leaves."""
    e, model, factors = p.experiment, p.privacy, p.noise_factors
    agents = range(len(p.graph))
    listeners = dict.fromkeys([*DEFAULT_THREATS, threat(e.threat)])
    effective = {str(t): [model.step(i, t).sigma for i in agents] for t in listeners}
    return {
        "ledger": FORMAT,
        "version": __version__,
        "rounds": e.rounds,
        **{name: getattr(e, name) for name in BY_NAME},
        "records": list(model.records),
        "parameters": model.size,
        "sigma": model.sigma,
        "noise_factors": None if factors is None else factors.tolist(),
        "neighbours": [
            [int(j) for j in p.graph.neighbours(i) if j != i] for i in agents
        ],
        "weights": weights_of(p.graph),
        "releases": [vars(release) for release in p.releases],
        "sigma_eff": effective,
        "options": options_of(e),
    }


class Ledger:
    """The file, on process 0. It only grows."""

    def __init__(self, path: Path, plan: PublicPlan, repeatable: bool) -> None:
        """`repeatable`: whether a round that is run again leaves with the same bytes."""
        self._path = path
        self._plan = plan
        self._repeatable = repeatable
        self._left: set[int] = set()
        self.head = START

    def open(self, done: int) -> int:
        """Start, or go on after round `done`; how many rounds are charged."""
        book = going_on(self._path, self._plan)
        if book is None:
            line = self._next(header(self._plan))
            files.write(self._path, line)
            return 0
        self._mend(book)
        book = read(self._path)
        self.head, self._left = book.head, {entry.round for entry in book.entries}
        if book.format < FORMAT:
            self._add({**header(self._plan), "above": book.sha256}, durable=True)
        elif book.rounds != self._plan.experiment.rounds:
            self._add({"rounds": self._plan.experiment.rounds}, durable=True)
        return read(self._path).billed(done)

    def debit(self, t: int) -> None:
        """Round t is about to leave."""
        graph, disclosure = self._plan.graph, self._plan.algorithm.disclosure
        paying = [i for i in range(len(graph)) if disclosure.active(graph, i, t)]
        line: dict[str, Any] = {"round": t}
        if len(paying) < len(graph):
            line["agents"] = paying
        if t in self._left:
            line["again"] = True
        self._left.add(t)
        # fsync: losing this line would under-count epsilon.
        self._add(line, durable=not self._repeatable)

    def _add(self, line: Mapping[str, Any], durable: bool) -> None:
        with self._path.open("ab") as file:
            file.write(self._next(line))
            file.flush()
            if durable:
                os.fsync(file.fileno())

    def _next(self, line: Mapping[str, Any]) -> bytes:
        content = json.dumps({**line, "prev": self.head}).encode()
        self.head = line_hash(content)
        return content + b"\n"

    def _mend(self, book: Book) -> None:
        """Drop what a crash cut off behind the last whole line.

        It was not paid for, and nothing of it had left.
        """
        if self._path.stat().st_size > book.size:
            os.truncate(self._path, book.size)
        if not book.closed:
            with self._path.open("ab") as file:
                file.write(b"\n")


def going_on(path: Path, plan: PublicPlan) -> Book | None:
    """The ledger that a plan goes on with (None: there is none yet).

    One of another mechanism is refused.
    """
    if (
        not path.exists() or b"\n" not in path.read_bytes()
    ):  # not even its header was written to the end
        return None
    book, run = read(path), path.parent
    if book.breaks:
        raise InputError(
            f"Ledger {str(path)!r} was changed: line {book.breaks[0]} does not follow "
            "the line before; the run cannot go on with it."
        )
    now = json.loads(json.dumps(header(plan)))
    for name, before, after in _differences(book.header, now):
        raise InputError(
            f"Run {str(run)!r} was started with {_change(name, before, after)}; undo "
            f"that. To extend a run: dpdl resume {run} --rounds N."
        )
    check_rounds(run, book, plan.experiment.rounds)
    return book


def check_rounds(run: Path, book: Book, rounds: int) -> None:
    """Refuse to end a run before a round that has left."""
    least = max(1, book.last)
    if rounds < least:
        raise InputError(
            f"Run {str(run)!r} has run {book.last} rounds: rounds must be at least "
            f"{least}, not {rounds}."
        )


def recompute(path: Path) -> dict[str, float]:
    """The largest epsilon over the agents, per threat, from the ledger alone.

    Infinity where nothing bounds it.
    """
    return bill(read(path))


MECHANISM = (
    *BY_NAME,
    "sigma",
    "records",
    "neighbours",
    "weights",
    "noise_factors",
    "parameters",
)


def _differences(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """What a ledger's header says and a plan does not."""
    for name in MECHANISM:
        if name in before and before[name] != now[name]:
            yield name, before[name], now[name]
    for name, value in before.get("options", {}).items():
        if name in now["options"] and value != now["options"][name]:
            yield name, value, now["options"][name]


def _change(name: str, before: Any, after: Any) -> str:
    """What was and what is, with values if they are short."""
    name = "graph" if name in ("neighbours", "weights") else name
    if max(len(repr(before)), len(repr(after))) > 60:
        return f"another {name} than its experiment.json now gives"
    return f"{name} = {before!r}, but its experiment.json now gives {after!r}"
