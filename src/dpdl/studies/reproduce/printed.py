"""What `dpdl reproduce` prints as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.folder.attack_facts import PaperRow
from dpdl.pages.compared_cells import ComparedCell, Ranking
from dpdl.paper.cells import CellRecord
from dpdl.records import Record, absent
from dpdl.studies.reproduce.claims import Claims


@final
@dataclass(frozen=True)
class BestProven(CellRecord):
    """The most accurate of all algorithms in mode sound, beside the paper's number for DPDL."""

    ours: float
    claimed: float
    reached: bool  # whether ours is at least what is claimed


@final
@dataclass(frozen=True)
class PrintedCells(Record):
    """Cells beside the paper's, and, for a figure, the pictures that were drawn."""

    cells: tuple[ComparedCell, ...]
    rankings: tuple[Ranking, ...]
    proven: tuple[BestProven, ...]
    figures: Mapping[str, str | None] | None = absent()  # by mode; None: no curve yet
    other_recipe: int | None = absent()  # cells of a figure with other settings


@final
@dataclass(frozen=True)
class Count(Record):
    """How many numbers of the paper were measured."""

    measured: int
    of: int


@final
@dataclass(frozen=True)
class PrintedStatus(Record):
    """What was measured so far: counts of everything, and the cells that were selected."""

    measured: Mapping[str, int]  # by mode
    of: int
    attacks: Count
    cells: tuple[ComparedCell, ...]
    rankings: tuple[Ranking, ...]
    proven: tuple[BestProven, ...]
    claims: Claims


@final
@dataclass(frozen=True)
class PrintedAttacks(Record):
    """Attacks beside the paper's, and the files that have all their numbers."""

    cells: tuple[PaperRow, ...]
    files: tuple[str, ...]


@final
@dataclass(frozen=True)
class ForecastRun(Record):
    """A run that is missing, and how long it should take on one core."""

    name: str
    seconds: int


@final
@dataclass(frozen=True)
class PrintedForecast(Record):
    """What a dry run prints."""

    runs: tuple[ForecastRun, ...]
    minutes: float
    jobs: int
