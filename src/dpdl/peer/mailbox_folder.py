"""The envelopes of a mailbox on disk: DIR/RUN/TARGET/SOURCE.KIND.NUMBER, each written atomically.

Everything is bounded by member: bytes and number of the envelopes that it has put and nobody has
fetched. What is older than 14 days is deleted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

from dpdl.folder.files import write
from dpdl.peer.failures import Refused
from dpdl.peer.mailbox_request import BoxPath, Item, parsed_box

FULL = 507
TOO_LONG = 413
DAY = 86400.0


@final
@dataclass(frozen=True)
class Bounds:
    """How much a mailbox keeps, for each member, and for how long."""

    quota: int = 1 << 30  # bytes
    largest: int = 1 << 28  # bytes of one envelope
    envelopes: int = 1000
    days: float = 14.0


class _Stored(NamedTuple):
    """What is known of an envelope without reading it."""

    length: int
    since: float


@final
class MailFolder:
    """Only one process uses a folder; `put` may be called in any of its threads."""

    def __init__(
        self, path: Path, bounds: Bounds, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._bounds = bounds
        self._clock = clock
        self._boxes: dict[BoxPath, dict[Item, _Stored]] = {}
        self._bytes: Counter[str] = Counter()  # by source
        self._count: Counter[str] = Counter()
        path.mkdir(parents=True, exist_ok=True)
        self._scan()

    # ------------------------------------------------------------------ in
    @contextmanager
    def reserved(self, source: str, length: int) -> Iterator[None]:
        """Room for one more envelope while it is on its way; `Refused` says why there is none."""
        bounds = self._bounds
        if length > bounds.largest:
            said = (
                f"An envelope has {length} bytes, at most {bounds.largest} are taken."
            )
            raise Refused(TOO_LONG, said)
        if self._bytes[source] + length > bounds.quota:
            said = f"{source} has {self._bytes[source]} bytes here that nobody fetched, and may "
            raise Refused(FULL, f"{said}have {bounds.quota}.")
        if self._count[source] >= bounds.envelopes:
            said = (
                f"{source} has {bounds.envelopes} envelopes here that nobody fetched."
            )
            raise Refused(FULL, said)
        self._add(source, length, 1)
        try:
            yield
        finally:
            self._add(source, -length, -1)

    def write(self, place: BoxPath, content: bytes) -> None:
        """Store an envelope; it is seen by nobody before `show`."""
        file = self._file(place)
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, content)

    def show(self, place: BoxPath, length: int) -> None:
        """What was written is there now, in place of an older one."""
        assert place.item is not None
        self._drop(place)
        box = self._boxes.setdefault(_box(place), {})
        box[place.item] = _Stored(length, self._clock())
        self._add(place.item.source, length, 1)

    # ------------------------------------------------------------------ out
    def oldest(self, box: BoxPath) -> BoxPath | None:
        """The envelope that came first; None: there is none."""
        item = next(iter(self._boxes.get(_box(box), ())), None)
        return None if item is None else box._replace(item=item)

    def read(self, place: BoxPath) -> bytes | None:
        """An envelope; None: it has just been deleted."""
        try:
            return self._file(place).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, place: BoxPath) -> None:
        """Forget an envelope, whether it is there or not."""
        if self._drop(place):
            self._file(place).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what is too old, and folders that are empty."""
        before = self._clock() - self._bounds.days * DAY
        for box, items in list(self._boxes.items()):
            for item, stored in list(items.items()):
                if stored.since < before:
                    self.remove(box._replace(item=item))
            if not self._boxes[box]:
                del self._boxes[box]
                self._leave(box)

    # ------------------------------------------------------------------ inside
    def _leave(self, box: BoxPath) -> None:
        folder = self._path / box.run / box.target
        with suppress(OSError):  # somebody has just put something there
            folder.rmdir()
            folder.parent.rmdir()

    def _file(self, place: BoxPath) -> Path:
        assert place.item is not None
        return self._path / place.run / place.target / ".".join(place.item)

    def _drop(self, place: BoxPath) -> bool:
        assert place.item is not None
        stored = self._boxes.get(_box(place), {}).pop(place.item, None)
        if stored is None:
            return False
        self._add(place.item.source, -stored.length, -1)
        return True

    def _add(self, source: str, length: int, count: int) -> None:
        self._bytes[source] += length
        self._count[source] += count

    def _scan(self) -> None:
        """Find what an earlier process has stored, the oldest first."""
        found = [(file.stat(), file) for file in self._path.glob("*/*/*")]
        for stat, file in sorted(found, key=lambda one: one[0].st_mtime_ns):
            run, target, name = file.parts[-3:]
            place = parsed_box(f"/v1/{run}/{target}/{name.replace('.', '/')}")
            if place is not None and place.item is not None:
                box = self._boxes.setdefault(_box(place), {})
                box[place.item] = _Stored(stat.st_size, stat.st_mtime)
                self._add(place.item.source, stat.st_size, 1)
            elif name.startswith("."):  # half an envelope, left by a crash
                file.unlink()


def _box(place: BoxPath) -> BoxPath:
    return place._replace(item=None)
