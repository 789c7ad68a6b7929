"""What was measured, beside what the paper published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dpdl.folder.cell_results import CellResult, SeedResult
from dpdl.pages.compared_cells import ComparedCell, MeasuredCell, Ranking
from dpdl.paper.cells import Cell, claim, published, select
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.reproduce import attack_store, cell_store
from dpdl.studies.reproduce.claims import claims, largest
from dpdl.studies.reproduce.printed import BestProven, PrintedCells, PrintedStatus
from dpdl.studies.reproduce.recipes import BEYOND, MODES, SOUND


def measured(
    out: Path, cells: Iterable[Cell], modes: Iterable[str]
) -> list[MeasuredCell]:
    """The cells that were measured, each beside the paper's number, with its curves.

    An algorithm beyond the paper stands beside the paper's claim for DPDL.
    """
    cells = list(cells)
    found = (
        (cell, mode, cell_store.read(out, cell, mode))
        for mode in modes
        for cell in cells
    )
    return [_measured(cell, mode, result) for cell, mode, result in found if result]


def compared(
    out: Path, cells: Iterable[Cell], modes: Iterable[str]
) -> list[ComparedCell]:
    """The same without curves."""
    return [one.compared for one in measured(out, cells, modes)]


def _measured(cell: Cell, mode: str, result: CellResult) -> MeasuredCell:
    difference = round(result.ours - result.paper, 2)
    runs = result.runs.values()
    row = ComparedCell(
        *cell,
        mode=mode,
        ours=result.ours,
        spread=result.spread,
        paper=result.paper,
        paper_spread=result.paper_spread,
        difference=difference,
        within=abs(difference) <= result.paper_spread,
        beyond=cell.algorithm in BEYOND,
        proven=largest_proven(runs),
        seeds=tuple(sorted(map(int, result.runs))),
        note=result.note,
    )
    return MeasuredCell(row, tuple(run.curve for run in runs if run.curve))


def largest_proven(runs: Iterable[SeedResult]) -> Epsilon:
    """The largest epsilon against an eavesdropper; unknown when that of one run is."""
    return largest(run.proven for run in runs)


# ------------------------------------------------------------------ conclusions
def rankings(rows: Iterable[ComparedCell]) -> list[Ranking]:
    """Where all five algorithms were measured: their order in the paper and ours."""
    groups: dict[tuple[str, Cell], list[ComparedCell]] = {}
    for row in rows:
        if not row.beyond:
            groups.setdefault((row.mode, row.cell.of_dpdl), []).append(row)
    every = {cell.algorithm for cell in published()}
    return [
        _ranking(mode, place, group)
        for (mode, place), group in groups.items()
        if {row.algorithm for row in group} == every
    ]


def _ranking(mode: str, place: Cell, rows: Sequence[ComparedCell]) -> Ranking:
    paper = [row.algorithm for row in sorted(rows, key=lambda row: -row.paper)]
    ours = [row.algorithm for row in sorted(rows, key=lambda row: -row.ours)]
    return Ranking(
        mode,
        *place[:-1],
        paper=tuple(paper),
        ours=tuple(ours),
        agrees=paper == ours,
        same_best=paper[0] == ours[0],
    )


def best_proven(rows: Iterable[ComparedCell]) -> list[BestProven]:
    """The paper's claim for DPDL, and the best accuracy that we measured in mode sound."""
    best: dict[Cell, ComparedCell] = {}
    for row in rows:
        place = row.cell.of_dpdl
        if row.mode == SOUND and (place not in best or row.ours > best[place].ours):
            best[place] = row
    return [_beside_claim(place, row) for place, row in best.items()]


def _beside_claim(place: Cell, row: ComparedCell) -> BestProven:
    claimed = claim(place).accuracy
    reached = row.ours >= claimed
    return BestProven(*row.cell, ours=row.ours, claimed=claimed, reached=reached)


def concluded(rows: Sequence[ComparedCell]) -> PrintedCells:
    """Cells, and what follows from them."""
    return PrintedCells(tuple(rows), tuple(rankings(rows)), tuple(best_proven(rows)))


# ------------------------------------------------------------------ status
def status(
    out: Path, text: str = "", modes: Iterable[str] = tuple(MODES)
) -> PrintedStatus:
    """What was measured of the selected cells, in some modes; the counts are of everything."""
    rows = compared(out, every_cell(), MODES)
    counts = {
        mode: sum(row.mode == mode and not row.beyond for row in rows) for mode in MODES
    }
    chosen, wanted = set(every_cell(text)), set(modes)
    selected = [row for row in rows if row.mode in wanted and row.cell in chosen]
    found = concluded(selected)
    return PrintedStatus(
        measured=counts,
        of=len(published()),
        attacks=attack_store.count(out),
        cells=found.cells,
        rankings=found.rankings,
        proven=found.proven,
        claims=claims(out, every_cell(text)),
    )


def every_cell(text: str = "") -> list[Cell]:
    """All cells of the paper, and those beyond it, that fit the text."""
    return select(None, text, BEYOND, named=False)
