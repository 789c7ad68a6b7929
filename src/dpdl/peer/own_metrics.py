"""What a peer measures for itself, on its own records: it is never sent.

No epsilon covers these numbers. They are in a file that only the site's account can read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from dpdl.errors import RunFailed, reason
from dpdl.foreign import read_text, whole_lines
from dpdl.records import Record, absent

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class OwnMeasurement(Record):
    """One evaluated round of one peer."""

    round: int
    score: str  # its name
    value: float  # of the peer's own model on the site's test records
    train_loss: float | None = absent()
    clip_fraction: float | None = absent()


@final
class OwnMetrics:
    """The file `private/metrics.jsonl` of a run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, done: int) -> None:
        """Forget rounds that will be run again: those after `done`."""
        kept = [one for one in self.read() if one.round <= done]
        new = self._path.with_suffix(".new")
        with _stopping(self._path):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(new, os.O_TRUNC, "".join(map(_line, kept)))
            new.replace(self._path)  # a crash, or a full disk, leaves the old one

    def add(self, one: OwnMeasurement) -> None:
        """Append a measurement."""
        with _stopping(self._path):
            _write(self._path, os.O_APPEND, _line(one))

    def read(self) -> list[OwnMeasurement]:
        """All that was measured; a line that a crash cut off is left out."""
        if not self._path.exists():
            return []
        lines = read_text(self._path).splitlines()
        return [OwnMeasurement.from_json(one) for one in whole_lines(lines)]


def reported(values: Mapping[str, Tensor], name: str) -> float | None:
    """What the algorithm reports of the one agent here; None where there is no such number."""
    found = values.get(name)
    value = float(found[0]) if found is not None else float("nan")
    return value if value == value else None


def _write(path: Path, how: int, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | how
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _stopping(path: Path) -> Iterator[None]:
    """Stop the run in one sentence where a disk does not take what is written."""
    try:
        yield
    except OSError as failure:
        raise RunFailed(
            f"File {str(path)!r} cannot be written: {reason(failure)}. Make room and start again."
        ) from failure


def _line(one: OwnMeasurement) -> str:
    return json.dumps(one.to_json()) + "\n"
