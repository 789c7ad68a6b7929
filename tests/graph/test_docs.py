"""The table of named graphs in the documentation is computed, not believed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpdl.graph import GRAPHS, build, from_file

PAGE = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| `") and line.count("|") == 7
]


def test_every_named_graph_is_in_the_table():
    assert sorted(row[0] for row in ROWS) == sorted(GRAPHS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_shows_what_the_code_computes(row):
    name, agents, _, edges, degree, gap = row
    graph = build(name, int(agents))
    low, high = graph.degrees.min(), graph.degrees.max()
    assert edges == str(graph.edge_count)
    assert degree == (str(low) if low == high else f"{low} to {high}")
    assert gap == f"{graph.spectral_gap:.3f}"


def test_the_two_example_files_are_the_same_graph(tmp_path):
    blocks = PAGE.split("    # hospitals")[1:]
    for suffix, block in zip(("edges", "adj"), blocks, strict=True):
        assert block.startswith(f".{suffix}")
        (tmp_path / f"h.{suffix}").write_text(
            "\n".join(block.split("\n\n")[0].splitlines()[1:])
        )
    edges, matrix = (
        from_file(tmp_path / f"h.{suffix}", 3, "given").W for suffix in ("edges", "adj")
    )
    assert np.array_equal(edges, matrix)
