"""The durable state of a peer in a run: `run.sqlite`, and `run.payloads` for large rows.

    begin(t)    state after round t - 1, t has begun, old frames and pins are dropped   one fsync
    commit      frames for all targets of an exchange, pins of those received           one fsync

Each is one transaction: a crash leaves all of it or nothing. Payloads above a megabyte cost one
fdatasync more, before it. What is not durable is seen by no reader, so that nothing leaves which a
crash could take back. The secrets of rounds are elsewhere, in `round.key`: a database keeps old
pages.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self, final

from dpdl.errors import InputError, RunFailed
from dpdl.peer.events import LONGEST, Throttle, first_hash, following
from dpdl.peer.folder_lock import lock_folder
from dpdl.peer.frame import Frame, Slot, digest_of
from dpdl.peer.payload_file import LARGE
from dpdl.peer.store_reader import (
    DATABASE,
    NOTHING,
    Committed,
    Here,
    Met,
    Pin,
    StoreReader,
)
from dpdl.peer.store_schema import writing
from dpdl.peer.store_writer import (
    CHECKPOINT,
    Fault,
    StoreWriter,
    nothing,
    write_first,
)

__all__ = [
    "Committed",
    "Document",
    "Here",
    "Met",
    "Pin",
    "Store",
    "StoreReader",
    "nothing",
]

NOT_LATEST = """(view, round, step) <> (
    SELECT view, round, step FROM pin AS other WHERE other.source = pin.source
    ORDER BY view DESC, round DESC, step DESC LIMIT 1)"""


class Document(NamedTuple):
    """A small signed text of a member."""

    kind: str
    name: str
    content: bytes


class _Begun(NamedTuple):
    """A round that is to begin."""

    round: int
    state: bytes
    sha: str
    keep_from: int


@final
class Store(StoreWriter):
    """The run of one peer in a folder; any thread may call, and no other process has it open.

    `fault` is called with the name of a point, such as "begin:before", "begin:inside" (nothing is
    committed yet) and "begin:after": tests fail or die there. What cannot be made durable raises
    `RunFailed`, and no reader sees any of it; after a disk has failed, the next start finds all of
    it or nothing.
    """

    def __init__(self, folder: Path, fault: Fault = nothing) -> None:
        self._pending: _Begun | None = None
        self._throttle = Throttle()
        self._papers: dict[str, dict[str, bytes]] = {}
        self._shown: dict[tuple[Slot, str], Frame] = {}
        self._arrived: dict[str, Pin] = {}  # the last of each source
        super().__init__(folder, fault)
        self._newest = max((slot for slot, _ in self.outbox()), default=NOTHING)
        self._last_pinned = self._last_slot()

    @classmethod
    def create(
        cls, folder: Path, run: str, build: str, state: bytes, fault: Fault = nothing
    ) -> Self:
        """A new run before its first round; a folder that has one is refused."""
        lock = lock_folder(folder)
        try:
            if (folder / DATABASE).exists():
                raise InputError(f"There is a run in folder {str(folder)!r} already.")
            with writing(folder / DATABASE):
                write_first(folder, run, build, state)
        finally:
            os.close(lock)
        return cls(folder, fault)

    # ------------------------------------------------------------------ rounds
    def wake(self) -> int:
        """Count this start; its number."""
        with self._transaction("wake") as db:
            db.execute("UPDATE here SET incarnation = incarnation + 1")
        return self.here.incarnation

    def note_build(self, build: str) -> None:
        """From now on the run is run with this."""
        with self._transaction("build") as db:
            db.execute("UPDATE here SET build = ?", (build,))

    def begin(self, round: int, state: bytes, keep_from: int) -> None:
        """Round `round` has begun, with the state after the round before.

        Frames and pins of rounds before `keep_from` are dropped, but for the last pin of a source.
        """
        with self._writes:
            self.prepare(round, state, keep_from)
            self._flush()

    def prepare(self, round: int, state: bytes, keep_from: int) -> None:
        """As `begin`, but durable with the next `commit`, in its transaction: an fsync less.

        Until then, `here` and `state` say what is durable. A crash before it repeats the round
        before, whose secrets must therefore still be there, as must the neighbours' frames. A round
        that was prepared and had no commit becomes durable now.
        """
        with self._writes:
            self._flush()
            if self._written > CHECKPOINT:
                with writing(self.path):
                    self._write_back()
            self._pending = _Begun(round, state, digest_of(state), keep_from)

    def finish(self, state: bytes) -> None:
        """The run has ended with this state: `here.done` is its last round, and none has begun."""
        sha = digest_of(state)
        with self._writes:
            self._flush()
            with self._transaction("finish", contents={sha: state}) as db:
                db.execute(
                    "UPDATE here SET done = round, round = round + 1, state = ?", (sha,)
                )
                self._insert_pins(db, self._arrived.values())
                self._collect(db)

    def change_view(
        self, view: int, round: int, state: bytes, documents: Sequence[Document] = ()
    ) -> None:
        """Go on in another view; `round` counts as begun, and what was prepared is given up.

        All frames are dropped, and all pins but the last of each source. `documents`, what the
        members agreed on, are put in the same transaction.
        """
        sha = digest_of(state)
        with self._writes:
            self._pending = None
            with self._transaction("view", contents={sha: state}) as db:
                values = (view, round, round - 1, sha)
                db.execute(
                    "UPDATE here SET view = ?, round = ?, done = ?, state = ?", values
                )
                self._insert_pins(db, self._arrived.values())
                self._drop(db, round + 1)
                db.executemany("REPLACE INTO document VALUES (?, ?, ?)", documents)
            self._papers, self._shown = {}, {}

    def _flush(self) -> None:
        """Make a prepared round durable."""
        begun = self._pending
        if begun is None:
            return
        with self._transaction("begin", contents={begun.sha: begun.state}) as db:
            self._begin(db, begun)
        self._pending = None

    def _begin(self, db: sqlite3.Connection, begun: _Begun) -> None:
        values = (begun.round, begun.round - 1, begun.sha)
        db.execute("UPDATE here SET round = ?, done = ?, state = ?", values)
        self._drop(db, begun.keep_from)

    def _drop(self, db: sqlite3.Connection, keep_from: int) -> None:
        self._shown = {
            at: frame for at, frame in self._shown.items() if at[0].round >= keep_from
        }
        db.execute("DELETE FROM outbox WHERE round < ?", (keep_from,))
        db.execute(f"DELETE FROM pin WHERE round < ? AND {NOT_LATEST}", (keep_from,))
        self._collect(db)

    # ------------------------------------------------------------------ exchanges
    def commit(
        self, slot: Slot, frames: Mapping[str, Frame], pins: Sequence[Pin] = ()
    ) -> None:
        """From now on these frames may leave, and no others for their targets in this exchange.

        The exchange must be of the view and the round that have begun. A round that was prepared
        begins in the same transaction.
        """
        with self._writes:
            begun = self._pending
            self._check_slot(slot, frames, begun)
            shas = {name: frame.sha256 for name, frame in frames.items()}
            contents = {shas[name]: frame.payload for name, frame in frames.items()}
            names = ("outbox",) if begun is None else ("begin", "outbox")
            if begun is not None:
                contents[begun.sha] = begun.state
            with self._transaction(*names, contents=contents) as db:
                _insert_frames(db, slot, frames, shas)
                self._insert_pins(db, pins)
                if begun is not None:
                    self._begin(db, begun)
            self._pending = None
            # From here on it is durable: neighbours will ask for it in a moment.
            self._shown = {
                (slot, name): frame
                for name, frame in frames.items()
                if len(frame.payload) <= LARGE
            }
            self._newest = max(self._newest, slot) if frames else self._newest

    def stored(self, slot: Slot, target: str) -> Frame | None:
        """A committed frame; the small ones of the last exchange are in memory, too.

        Frames that are not there yet are asked for all the time; that takes no look into the file.
        """
        if slot > self._newest:
            return None
        found = self._shown.get((slot, target))
        return super().stored(slot, target) if found is None else found

    def committed(self, slot: Slot) -> dict[str, Committed]:
        """The headers that may leave in an exchange; none in one after the last."""
        return {} if slot > self._newest else super().committed(slot)

    def pin(self, slot: Slot, source: str) -> Pin | None:
        """The frame that a neighbour sent in an exchange; only in one before the last pin's."""
        return None if slot > self._last_pinned else super().pin(slot, source)

    def _check_slot(
        self, slot: Slot, frames: Mapping[str, Frame], begun: _Begun | None
    ) -> None:
        here = self.here
        round = here.round if begun is None else begun.round
        if slot[:2] != (here.view, round):
            raise RunFailed(
                f"Round {slot.round} of view {slot.view} has not begun, or is over; nothing was "
                "sent."
            )
        committed = self.committed(slot)
        again = [name for name in frames if name in committed]
        if again:
            raise RunFailed(
                f"A frame for {again[0]} was committed in round {slot.round}, step {slot.step}, "
                "before; no other one may leave."
            )

    def _insert_pins(self, db: sqlite3.Connection, pins: Iterable[Pin]) -> None:
        pins = list(pins)
        self._last_pinned = max([self._last_pinned, *(pin.slot for pin in pins)])
        db.executemany(
            "INSERT OR IGNORE INTO pin VALUES (?, ?, ?, ?, ?, ?)",
            [(*pin.slot, pin.source, pin.header, pin.signature) for pin in pins],
        )

    def show(self, pin: Pin) -> None:
        """A frame has come: `last_pin` says so at once, and it is durable with the next commit.

        This site may wait for another neighbour for days, while the sender's disk is restored.
        """
        self._arrived[pin.source] = pin

    def last_pin(self, source: str) -> Pin | None:
        """The frame of the latest exchange that a neighbour sent."""
        come, durable = self._arrived.get(source), super().last_pin(source)
        if come is None or (durable is not None and durable.slot >= come.slot):
            return durable
        return come

    # ------------------------------------------------------------------ papers
    def put_document(self, kind: str, name: str, content: bytes) -> None:
        """Keep a document, in place of an older one."""
        with self._transaction("document") as db:
            values = (kind, name, content)
            db.execute("REPLACE INTO document VALUES (?, ?, ?)", values)
        self._papers = {}

    def documents(self, kind: str) -> dict[str, bytes]:
        """The documents of a kind, by name; each request for a frame looks at some of them."""
        papers = self._papers  # who changes them begins another dictionary
        if kind not in papers:
            papers[kind] = super().documents(kind)
        return dict(papers[kind])

    def note_neighbour(self, name: str, met: Met) -> None:
        """What a neighbour has said of its present start."""
        if self.neighbour(name) == met:
            return
        with self._transaction("neighbour") as db:
            values = (name, met.incarnation, met.nonce, " ".join(met.heads))
            db.execute("REPLACE INTO neighbour VALUES (?, ?, ?, ?)", values)

    def log(self, kind: str, text: str) -> None:
        """Add a line to the log, chained to the one before; of a flood, some are left out."""
        with self._writes:
            left_out = self._throttle.admit(kind)
            if left_out is not None:
                more = f" ({left_out} more before it were left out)" if left_out else ""
                self._log(kind, f"{text[:LONGEST]}{more}")

    def _log(self, kind: str, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction("event") as db:
            number, before = self._log_end(db)
            event = following(before, number + 1, now, kind, text)
            db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", event)

    def _log_end(self, db: sqlite3.Connection) -> tuple[int, str]:
        """Number and hash of the last line; lines that were taken away keep their numbers."""
        query = "SELECT hash FROM event ORDER BY number DESC LIMIT 1"
        hashes = [sha for (sha,) in db.execute(query)]
        used = [n for (n,) in db.execute("SELECT seq FROM sqlite_sequence")]
        before = hashes[0] if hashes else first_hash(self.here.run)
        return max(used, default=0), before


def _insert_frames(
    db: sqlite3.Connection,
    slot: Slot,
    frames: Mapping[str, Frame],
    shas: Mapping[str, str],
) -> None:
    db.executemany(
        "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (*slot, name, frame.header, frame.signature, shas[name])
            for name, frame in frames.items()
        ],
    )
