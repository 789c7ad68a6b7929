"""The paper's 108 claims for DPDL, beside what was measured at a proven epsilon.

A claim is reached by the average model, or by every agent: then the worst of the agents' own models
is as accurate as the paper says.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.folder.cell_results import CellResult
from dpdl.paper.cells import DPDL, Cell, CellRecord, claim, published
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.records import Record
from dpdl.studies.reproduce import cell_store
from dpdl.studies.reproduce.recipes import SOUND, is_in_mode


@final
@dataclass(frozen=True)
class Claim(CellRecord):
    """A claim, and the algorithm that comes closest to it; means over the seeds, in percent."""

    claimed: float
    average_model: float
    agents_mean: float | None  # None: not every run has it
    agents_worst: float | None
    seeds: tuple[int, ...]
    spread: float | None  # of the average model over the seeds; None: one seed
    proven: Mapping[str, Epsilon]  # by threat model, the largest of all seeds
    reached: bool  # by the average model
    reached_by_every_agent: bool


@final
@dataclass(frozen=True)
class Claims(Record):
    """How many claims there are, were measured and are reached, and each that was measured."""

    of: int
    measured: int
    reached: int
    reached_by_every_agent: int
    cells: tuple[Claim, ...]

    @property
    def sentence(self) -> str:
        """The counts, in words."""
        return (
            f"Of the paper's {self.of} claims for DPDL, {self.measured} were measured at a proven "
            f"epsilon: {self.reached} are reached by the average model, "
            f"{self.reached_by_every_agent} by every agent's own."
        )


def claims(out: Path, cells: Iterable[Cell]) -> Claims:
    """What was measured of these cells in mode sound, for each claim the best algorithm."""
    best: dict[Cell, Claim] = {}
    for cell in cells:
        result = cell_store.read(out, cell, SOUND) if is_in_mode(cell, SOUND) else None
        if result is None:
            continue
        found, place = _beside(cell, result), cell.of_dpdl
        if place not in best or _rank(found) > _rank(best[place]):
            best[place] = found
    return Claims(
        of=sum(cell.algorithm == DPDL for cell in published()),
        measured=len(best),
        reached=sum(one.reached for one in best.values()),
        reached_by_every_agent=sum(one.reached_by_every_agent for one in best.values()),
        cells=tuple(best.values()),
    )


def _rank(found: Claim) -> tuple[bool, bool, float, float]:
    """First what every agent reaches, then what the average model does."""
    reached = found.reached_by_every_agent, found.reached
    return *reached, found.agents_worst or 0.0, found.average_model


def _beside(cell: Cell, result: CellResult) -> Claim:
    claimed = claim(cell.of_dpdl).accuracy
    runs = result.runs.values()
    worst = _mean(run.agents_worst for run in runs)
    return Claim(
        *cell,
        claimed=claimed,
        average_model=result.ours,
        agents_mean=_mean(run.agents_mean for run in runs),
        agents_worst=worst,
        seeds=tuple(sorted(map(int, result.runs))),
        spread=result.spread,
        proven=_proven(result),
        reached=result.ours >= claimed,
        reached_by_every_agent=worst is not None and worst >= claimed,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = list(values)
    if not known or None in known:
        return None
    return round(statistics.fmean(one for one in known if one is not None), 2)


def _proven(result: CellResult) -> dict[str, Epsilon]:
    """The largest epsilon of all seeds; unknown where that of one is."""
    every = [run.epsilon or {} for run in result.runs.values()]
    names = [name for name in every[0] if not name.startswith("claimed")]
    return {name: largest(one.get(name, UNKNOWN) for one in every) for name in names}


def largest(epsilons: Iterable[Epsilon]) -> Epsilon:
    """The largest of some; unknown when one of them is, or when there is none."""
    values = [one.value for one in epsilons]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return UNKNOWN
    return Epsilon(max(known))
