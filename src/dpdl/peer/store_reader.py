"""What the database of a run says; it may be read while another process runs the run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple, Self

from dpdl.errors import InputError
from dpdl.peer.events import Event, first_broken
from dpdl.peer.frame import Frame, FrameHead, Slot, digest_of, head_of
from dpdl.peer.frame_bytes import encode
from dpdl.peer.payload_file import PayloadFile, Piece
from dpdl.peer.store_schema import check_format, opening, reader, reading

DATABASE = "run.sqlite"
PAYLOADS = "run.payloads"
INSIDE = -1
"""The start of a payload that is in the database itself."""
TRIES = 3
SLOT = "view = ? AND round = ? AND step = ?"

FRAME = "SELECT head, signature, content, start, length FROM outbox JOIN payload USING (sha)"
STATE = "SELECT sha, content, start, length FROM here JOIN payload ON sha = state"

NOTHING = Slot(-1, -1, -1)
"""Before all frames."""
Value = str | int | bytes | None


class Here(NamedTuple):
    """Where a run stands, durably."""

    round: int  # that has begun; one more than the last when the run has ended; 0: none
    view: int
    incarnation: int  # how often the run was started
    done: int  # rounds whose result is durable
    build: str  # what it is run with
    run: str  # hash of the manifest


class Pin(NamedTuple):
    """The header of a frame that was received: its sender can never show another one."""

    slot: Slot
    source: str
    header: bytes
    signature: bytes

    @property
    def head(self) -> FrameHead:
        """The fields of the header."""
        return head_of(self.header)


class Met(NamedTuple):
    """What a neighbour has said of itself."""

    incarnation: int  # how often it has started
    nonce: str  # of its last start
    heads: tuple[str, ...] = ()  # of its ledger, signed, the last ones


class Committed(NamedTuple):
    """The header of a frame that may leave; no other frame for its target and slot may."""

    header: bytes
    signature: bytes

    @property
    def head(self) -> FrameHead:
        """The fields of the header."""
        return head_of(self.header)


class StoreReader:
    """The database of the run in a folder; any thread may ask.

    What it returns is durable: a transaction is seen when it is on disk, and not before.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        self._reads = threading.Lock()
        if not self.path.is_file():
            raise InputError(
                f"There is no run in folder {str(folder)!r}: no {DATABASE}."
            )
        with opening(self.path):
            self._reader = reader(self.path)
            check_format(self.path, self._reader)
        self._large = PayloadFile(folder / PAYLOADS)

    def close(self) -> None:
        """Let go of the files."""
        with self._reads:
            self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # ------------------------------------------------------------------ where it stands
    @property
    def here(self) -> Here:
        """Where the run stands."""
        (row,) = self._ask(
            "SELECT round, view, incarnation, done, build, run FROM here"
        )
        return Here(*row)

    def state(self) -> bytes:
        """The state before `here.round`; at the end, the state after the last round."""
        for _ in range(TRIES):  # another process may be replacing it
            with self._large.lock:
                for sha, *place in self._ask(STATE):
                    found = self._payload(*place)
                    if digest_of(found) == sha:
                        return found
        raise self._unfit()

    def neighbour(self, name: str) -> Met | None:
        """What a neighbour has said of itself."""
        rows = self._ask(
            "SELECT incarnation, nonce, heads FROM neighbour WHERE name = ?", name
        )
        for incarnation, nonce, heads in rows:
            return Met(incarnation, nonce, tuple(heads.split()))
        return None

    # ------------------------------------------------------------------ frames
    def committed(self, slot: Slot) -> dict[str, Committed]:
        """The headers that may leave in an exchange, by target."""
        rows = self._ask(
            f"SELECT target, head, signature FROM outbox WHERE {SLOT}", *slot
        )
        return {target: Committed(*rest) for target, *rest in rows}

    def outbox(self) -> list[tuple[Slot, str]]:
        """Exchange and target of every frame that is kept, in order."""
        order = "view, round, step, target"
        rows = self._ask(f"SELECT {order} FROM outbox ORDER BY {order}")
        return [(Slot(*slot), target) for *slot, target in rows]

    def frame(self, slot: Slot, target: str) -> bytes | None:
        """A frame as it is sent; None: it is not committed, or it was deleted."""
        found = self.stored(slot, target)
        if found is None:
            return None
        with reading(self.path):
            return encode(found)

    def stored(self, slot: Slot, target: str) -> Frame | None:
        """A frame with its whole header; None: it is not committed, or it was deleted."""
        with self._large.lock:
            rows = self._ask(f"{FRAME} WHERE {SLOT} AND target = ?", *slot, target)
            for header, signature, *place in rows:
                return Frame(header, signature, self._payload(*place))
        return None

    def _payload(self, content: bytes, start: int, length: int) -> bytes:
        if start == INSIDE:
            return content
        with reading(self._large.path):
            return self._large.read(Piece(start, length))

    def _unfit(self) -> InputError:
        return InputError(
            f"Database {str(self.path)!r} and file {PAYLOADS} beside it do not fit: one of them "
            "was changed, or an old one was copied back."
        )

    # ------------------------------------------------------------------ pins
    def pin(self, slot: Slot, source: str) -> Pin | None:
        """The frame that a neighbour sent in an exchange."""
        return self._pin(f"source = ? AND {SLOT}", source, *slot)

    def last_pin(self, source: str) -> Pin | None:
        """The frame of the latest exchange that a neighbour sent."""
        return self._pin("source = ?", source)

    def _pin(self, where: str, *values: Value) -> Pin | None:
        latest = "ORDER BY view DESC, round DESC, step DESC LIMIT 1"
        fields = "view, round, step, source, head, signature"
        rows = self._ask(f"SELECT {fields} FROM pin WHERE {where} {latest}", *values)
        for view, round, step, *rest in rows:
            return Pin(Slot(view, round, step), *rest)
        return None

    def _last_slot(self) -> Slot:
        """The latest exchange of which there is a pin; one before all where there is none."""
        latest = "ORDER BY view DESC, round DESC, step DESC LIMIT 1"
        rows = self._ask(f"SELECT view, round, step FROM pin {latest}")
        return Slot(*rows[0]) if rows else NOTHING

    # ------------------------------------------------------------------ papers
    def documents(self, kind: str) -> dict[str, bytes]:
        """The documents of a kind, by name."""
        rows = self._ask(
            "SELECT name, content FROM document WHERE kind = ? ORDER BY name", kind
        )
        return dict(rows)

    def events(self) -> list[Event]:
        """The log, from its first line."""
        rows = self._ask(
            "SELECT number, time, kind, text, hash FROM event ORDER BY number"
        )
        return [Event(*row) for row in rows]

    def check_events(self) -> int | None:
        """The number of the first line of the log that is not as it was written; None: all are."""
        events = self.events()
        broken = first_broken(self.here.run, events)
        rows = self._ask("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        count = rows[0][0] if rows else 0
        if broken is None and count != len(events):
            return len(events) + 1  # lines at the end are gone
        return broken

    def _ask(self, query: str, *values: Value) -> list[tuple[Any, ...]]:
        with self._reads, reading(self.path):
            return self._reader.execute(query, values).fetchall()
