"""What describes a recording: `recording/public.json` and `recording/index.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.bounds import count
from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.records import Json, Record
from dpdl.text import shown

Link = tuple[int, int]
MOST_SIDE = 10**6
"""Numbers along a side of a record."""
HOW = "record one with: dpdl run ... --record ROUNDS [--record-batches SIZES]"


@final
@dataclass(frozen=True)
class PublicFacts(Record):
    """What everybody knows of a run that was recorded.

    The seed is not in it: who knows it can compute batches and noise.
    """

    FORMAT = 1

    experiment: Mapping[str, Json]  # all options but the seed, by their names
    sigma: float
    W: tuple[tuple[float, ...], ...]  # the weights of the graph
    graph: str
    shape: tuple[int, ...]  # of one record
    classes: int
    mean: tuple[float, ...]  # how pixels become numbers
    std: tuple[float, ...]
    parameters: Mapping[str, tuple[int, ...]]  # shapes by name

    def __post_init__(self) -> None:
        if not self.W or any(len(row) != len(self.W) for row in self.W):
            raise InputError("W must have as many columns as rows, and at least one.")
        if not all(math.isfinite(weight) for row in self.W for weight in row):
            raise InputError("W must hold finite numbers.")
        if not self.shape or not all(1 <= side <= MOST_SIDE for side in self.shape):
            raise InputError(f"shape must be of sides from 1 to {MOST_SIDE}.")
        count("classes", self.classes)

    @property
    def algorithm(self) -> str:
        """Its name."""
        return self._text("algorithm")

    @property
    def model(self) -> str:
        """Its name."""
        return self._text("model")

    @property
    def batch(self) -> int:
        """The expected size of the run's own batches."""
        found = self.experiment.get("batch")
        if not isinstance(found, int):
            raise self._damage("batch")
        return found

    @property
    def momentum(self) -> float:
        """Beta of the algorithm; 0 if it has none."""
        found = self.experiment.get("momentum", 0.0)
        if not isinstance(found, int | float):
            raise self._damage("momentum")
        return float(found)

    def _text(self, name: str) -> str:
        found = self.experiment.get(name)
        if not isinstance(found, str):
            raise self._damage(name)
        return found

    def _damage(self, name: str) -> InputError:
        return InputError(f"The recording does not say which {name} the run had.")


@final
@dataclass(frozen=True)
class RecordingIndex(Record):
    """What was to be recorded, and the files that there are."""

    rounds: tuple[int, ...]  # the neighbours of each are recorded, too
    batches: tuple[
        int, ...
    ]  # sizes that the rounds are played with besides the run's own
    links: tuple[Link, ...] | None  # (source, target); None: all
    megabytes: int  # no more is written
    files: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()  # of the files, in bytes
    full: str | None = None  # the first file that did not fit

    def __post_init__(self) -> None:
        for name in self.files:
            if not names.is_of_recording(name):
                raise InputError(f"files names {shown(name)}, which is no recording.")


def refuse_unrecorded(folder: Path) -> None:
    """Refuse the place of a recording where there is none."""
    if not (folder / names.PUBLIC_FACTS).exists():
        raise InputError(f"Run {str(folder.parent)!r} has no recording; {HOW}.")
