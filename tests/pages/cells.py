"""Measured cells, and the pages that are made of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpdl.folder.cell_results import Curve, SeedResult
from dpdl.pages.compared_cells import ComparedCell, MeasuredCell, Ranking
from dpdl.paper.cells import Cell, published
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.studies.reproduce import cell_store, recipes
from tests.commands import dpdl as command

FIVE = ("dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd")
CELL = Cell("mnist", "ring", 10, 0.25, 0.5, "dpdl")
ROW = ComparedCell(
    *CELL,
    mode="sound",
    ours=90.5,
    spread=None,
    paper=91.8,
    paper_spread=0.6,
    difference=-1.3,
    within=False,
    beyond=False,
    proven=Epsilon(2.0),
    seeds=(0,),
    note=None,
)
"""DPDL on a ring: 1.3 points below the paper."""
RANKING = Ranking("sound", *CELL[:-1], FIVE, FIVE, agrees=True, same_best=True)


def row(**more: Any) -> ComparedCell:
    """`ROW` with some other values."""
    return replace(ROW, **more)


def cell(*curves: Curve, **more: Any) -> MeasuredCell:
    """The same with curves."""
    return MeasuredCell(row(**more), curves)


def curve(*losses: float | None, spread: float = 0.1, step: int = 50) -> Curve:
    """Losses of rounds 0, 50, ..."""
    low = [None if x is None else x - spread for x in losses]
    high = [None if x is None else x + spread for x in losses]
    rounds = [step * k for k in range(len(losses))]
    accuracies = [50.0] * len(losses)
    return Curve(tuple(rounds), losses, tuple(low), tuple(high), tuple(accuracies))


def enter(
    out: Path,
    cell: Cell,
    points: float,
    seed: int = 0,
    mode: str = "as-published",
    proven: Epsilon = UNBOUNDED,
    curve: Curve | None = None,
) -> None:
    """A result that is so many points from the paper's."""
    accuracy = round(published()[cell].accuracy + points, 2)
    run = SeedResult(
        accuracy=accuracy,
        agents_mean=accuracy,
        agents_worst=accuracy,
        sigma=3.0,
        epsilon={"eavesdropper": proven},
        seconds=1.0,
        versions={"dpdl": "x"},
        commit="abc",
        curve=curve,
    )
    cell_store.add(out, cell, mode, recipes.experiment(cell, mode, seed), run)


def made(folder: Path, monkeypatch, capsys) -> str:
    """The page of a folder."""
    code, out, _ = command(monkeypatch, capsys, "report", str(folder), "--json")
    assert code == 0
    return Path(json.loads(out)["page"]).read_text("utf-8")


def part(text: str, mode: str) -> str:
    """The section of a mode."""
    return re.search(f'<section id="results-{mode}">.*?</section>', text, re.DOTALL)[0]
