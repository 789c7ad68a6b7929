"""Cells of the paper beside what was measured: what its pages and pictures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from dpdl.folder.cell_results import Curve
from dpdl.paper.cells import CellRecord
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Record


@final
@dataclass(frozen=True)
class ComparedCell(CellRecord):
    """One cell in one mode; accuracies and their spreads are in percent."""

    mode: str
    ours: float
    spread: float | None  # None for a single seed
    paper: float
    paper_spread: float
    difference: float  # ours less the paper's
    within: bool  # whether the difference is at most the paper's spread
    beyond: bool  # the algorithm is not in the paper: `paper` is its number for DPDL
    proven: Epsilon  # the largest of all seeds, against an eavesdropper on all links
    seeds: tuple[int, ...]
    note: str | None  # written by a person

    @property
    def is_proven(self) -> bool:
        """Whether our runs prove the epsilon of the cell, but for rounding."""
        proven = self.proven.finite
        return proven is not None and proven <= 1.001 * self.epsilon


class MeasuredCell(NamedTuple):
    """A cell beside the paper's, with the curves of its seeds as far as they were kept."""

    compared: ComparedCell
    curves: tuple[Curve, ...] = ()


@final
@dataclass(frozen=True)
class Ranking(Record):
    """The order of the paper's five algorithms in one place, the most accurate one first."""

    mode: str
    dataset: str
    graph: str
    agents: int
    alpha_d: float
    epsilon: float
    paper: tuple[str, ...]
    ours: tuple[str, ...]
    agrees: bool  # the whole order is the same
    same_best: bool


def proven_text(epsilon: Epsilon) -> str:
    """A proven epsilon with three digits; from a thousand on a whole number."""
    number = epsilon.finite
    return f"{number:,.0f}" if number and number >= 1000 else f"{epsilon:.3g}"
