"""Measured cells, and the pages that are made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dpdl.paper.cells import Cell, published
from dpdl.studies.reproduce import recipes, store
from tests.commands import dpdl as command

FIVE = ("dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd")
CELL = Cell("mnist", "ring", 10, 0.25, 0.5, "dpdl")


def row(**more) -> dict:
    """DPDL on a ring: 1.3 points below the paper."""
    numbers = {
        "paper": 91.8,
        "paper_spread": 0.6,
        "ours": 90.5,
        "spread": None,
        "difference": -1.3,
        "within": False,
    }
    return {
        **CELL._asdict(),
        **numbers,
        "beyond": False,
        "seeds": [0],
        "proven": 2.0,
        "note": None,
        **more,
    }


def enter(
    out: Path,
    cell: Cell,
    points: float,
    seed: int = 0,
    mode: str = "as-published",
    proven="unbounded",
) -> None:
    """A result that is so many points from the paper's."""
    accuracy = (published()[cell].accuracy + points) / 100
    summary = {
        "accuracy": {"average_model": accuracy, "mean": accuracy, "worst": accuracy},
        "sigma": 3.0,
        "epsilon": {"eavesdropper": proven},
        "seconds": 1.0,
        "versions": {"dpdl": "x"},
    }
    store.add(out, cell, mode, recipes.experiment(cell, mode, seed), summary, "abc")


def made(folder: Path, monkeypatch, capsys) -> str:
    """The page of a folder."""
    code, out, _ = command(monkeypatch, capsys, "report", str(folder), "--json")
    assert code == 0
    return Path(json.loads(out)["page"]).read_text("utf-8")


def part(text: str, mode: str) -> str:
    """The section of a mode."""
    return re.search(f'<section id="results-{mode}">.*?</section>', text, re.DOTALL)[0]
