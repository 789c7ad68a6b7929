"""The numbers in `docs/reproduction.md` are those in `results/`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpdl.paper.cells import Cell, published
from dpdl.reproduce import recipes, results

ROOT = Path(__file__).parents[2]


def tables(mode: str) -> dict[Cell, str]:
    """The cells of a mode's table, by the words in it."""
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    inside = re.search(f"<!-- table {mode} -->(.*?)<!-- end {mode} -->", text, re.DOTALL)
    assert inside, f"there is no table of {mode}"
    head, _, *rows = [[word.strip() for word in line.strip("|").split("|")] for line in inside[1].split("\n") if line]
    names = [word.strip("`") for word in head if word.startswith("`")]
    return {
        Cell("mnist", row[0], 10, 0.25, float(row[1]), name): word
        for row in rows
        for name, word in zip(names, row[2:], strict=False)
    }


@pytest.mark.parametrize("mode", recipes.MODES)
def test_the_tables_have_all_results_and_nothing_else(mode: str) -> None:
    shown = tables(mode)
    for cell, word in shown.items():
        result = results.read(ROOT / "results", cell, mode)
        if result is None:
            assert word == "-", cell
        else:
            theirs = f" ({published()[cell].accuracy:.1f})" if cell in published() else ""
            assert word == f"{result['ours']:.1f}{theirs}", cell
    measured = [cell for cell in results.every_cell() if results.path_of(ROOT / "results", cell, mode).exists()]
    assert set(measured) <= set(shown)


def test_what_is_proven_of_algorithm_1_is_what_its_runs_say() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    found = re.findall(r"^\| (\w+) \| ([\d.]+) \| [\d.]+ \([\d.]+\) \| ([\d.]+) \|$", text, re.MULTILINE)
    for graph, epsilon, proven in found:
        cell = Cell("mnist", graph, 10, 0.25, float(epsilon), "dpdl")
        result = results.read(ROOT / "results", cell, "algorithm1")
        assert result and [f"{run['epsilon']['eavesdropper']:.3g}" for run in result["runs"].values()] == [proven]
    assert len(found) == sum(word != "-" for word in tables("algorithm1").values())
