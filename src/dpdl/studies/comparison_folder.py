"""The folder of a comparison: `compare.json`, and a run folder for every algorithm and seed.

`compare.json` holds what was asked for, `runs/ALGORITHM-seedS` are ordinary run folders, and
`table.json` and `table.csv` hold the result. A request with more algorithms or seeds adds to the
folder; one that differs in what all runs share is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.lock import refuse_difference
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_folder import RunFolder
from dpdl.records import Record
from dpdl.studies.comparison_request import Comparison, ComparisonTerms, LrFrom
from dpdl.studies.comparison_table import ComparisonTable
from dpdl.text import shown

LONGEST = 200
"""Bytes of the name of an algorithm, and so of a folder."""


@final
@dataclass(frozen=True)
class ComparedAlgorithm(Record):
    """What is run of one algorithm; the seed of its experiment is 0."""

    experiment: Experiment
    seeds: tuple[int, ...]
    lr_from: LrFrom | None = None  # None: unknown, or there is no step size


@final
@dataclass(frozen=True)
class ComparisonFile(Record):
    """`compare.json`: what was asked for so far."""

    FORMAT = 1

    version: str
    asked: ComparisonTerms
    algorithms: Mapping[str, ComparedAlgorithm]

    def __post_init__(self) -> None:
        for name in self.algorithms:  # each is the name of a folder
            if "/" in name or not name.isprintable() or len(name.encode()) > LONGEST:
                raise InputError(f"algorithms names {shown(name)}, which is none.")


@final
@dataclass(frozen=True)
class ComparisonRun:
    """One run of a comparison, and where it is."""

    algorithm: str
    experiment: Experiment
    folder: Path

    @property
    def finished(self) -> bool:
        """Whether its result is there."""
        return RunFolder(self.folder).finished

    @property
    def started(self) -> bool:
        """Whether there is something to continue."""
        return RunFolder(self.folder).started

    def with_rounds(self, rounds: int) -> ComparisonRun:
        """The same run with another number of rounds."""
        return replace(self, experiment=replace(self.experiment, rounds=rounds))


def merged(
    out: Path,
    before: ComparisonFile | None,
    c: Comparison,
    wanted: Mapping[str, Experiment],
) -> ComparisonFile:
    """The algorithms of the folder and those of a request, each with all its seeds."""
    terms = c.terms()
    cells = dict(before.algorithms) if before else {}
    if before:
        refuse_difference(out, before.asked.to_json(), terms.to_json())
    for name, e in wanted.items():
        now = replace(e, seed=0)
        seeds = set(c.seeds)
        if name in cells:
            there = cells[name].experiment.resolved()
            refuse_difference(out, there.as_dict(), now.as_dict(), f" for {name}")
            seeds |= set(cells[name].seeds)
        cells[name] = ComparedAlgorithm(now, tuple(sorted(seeds)), c.lr_from(name))
    return ComparisonFile(__version__, terms, cells)


def runs_of(out: Path, file: ComparisonFile) -> list[ComparisonRun]:
    """All runs: every algorithm with the first seed, then with the second, and so on.

    So what is done early can be compared. A folder that holds another experiment is refused.
    """
    every = [
        (seed, name, cell)
        for name, cell in file.algorithms.items()
        for seed in cell.seeds
    ]
    every.sort(key=lambda one: one[0])
    return [_run(out, file, name, cell, seed) for seed, name, cell in every]


def _run(
    out: Path, file: ComparisonFile, name: str, cell: ComparedAlgorithm, seed: int
) -> ComparisonRun:
    experiment = replace(cell.experiment.resolved(), seed=seed)
    folder = out / names.RUNS / names.run_of_seed(name, seed)
    run = ComparisonRun(name, experiment, folder)
    if not run.started:
        return run
    found = RunFolder(folder).experiment()
    if file.asked.equal == "bytes":  # the rounds were counted when it was started
        run = run.with_rounds(found.rounds)
    refuse_difference(folder, found.resolved().as_dict(), run.experiment.as_dict())
    return run


def curves(table: ComparisonTable) -> dict[str, list[list[Metrics]]]:
    """The metrics of the finished runs of a table, by algorithm, in the order of the rows."""
    runs = Path(table.out) / names.RUNS
    found: dict[str, list[list[Metrics]]] = {}
    for row in table.rows:
        folders = [runs / names.run_of_seed(row.algorithm, seed) for seed in row.seeds]
        if folders:
            found[row.algorithm] = [RunFolder(one).metrics() for one in folders]
    return found
