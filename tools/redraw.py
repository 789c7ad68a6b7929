"""Pictures of the documentation that are made of kept results: `python tools/redraw.py [FOLDER]`.

Those of docs/architecture.md are drawn by `tools/pictures.py`, and all others by the command that
their page names. Nothing is measured here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dpdl.folder.bench_results import GradientSpeeds, RoundCost
from dpdl.paper.cells import algorithms_of_paper
from dpdl.report.captions import Words
from dpdl.report.convergence import draw_convergence, ordered
from dpdl.report.frontier import draw_frontier
from dpdl.report.speed import draw_costs, draw_speeds
from dpdl.studies.reproduce.beside_paper import every_cell, measured
from dpdl.studies.reproduce.measure_cells import cells_with_curves
from dpdl.studies.reproduce.recipes import MODES

HOME = Path(__file__).parents[1]
RESULTS, IMAGES = HOME / "results", HOME / "docs/images"
GRAPHS = ("ring", "bipartite", "complete")
MOST = 100
"""Agents of the largest graph in the picture of costs."""


def frontier(path: Path) -> Path:
    """Accuracy at a proven epsilon, beside the paper's at a claimed one."""
    cells = [cell.compared for cell in measured(RESULTS, every_cell(), ["sound"])]
    place = ("mnist", 10, 0.25)
    rows = [row for row in cells if (row.dataset, row.agents, row.alpha_d) == place]
    words = Words(
        "MNIST, 10 agents, alpha_d 0.25",
        "Ours: epsilon proven against an eavesdropper on all links. "
        "The paper's: epsilon claimed by its Theorem 1.",
    )
    return draw_frontier(rows, ordered(row.algorithm for row in rows), path, words)


def convergence(path: Path) -> Path:
    """As `dpdl reproduce conv-mnist-bipartite` draws it."""
    mode = "as-published"
    cells = cells_with_curves("conv-mnist-bipartite", mode, RESULTS)
    return draw_convergence(cells, algorithms_of_paper(), path, mode, MODES[mode])


def history(bench: str) -> list[dict[str, object]]:
    """What was measured by one benchmark, the oldest first."""
    lines = (HOME / "benchmarks/history.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [one for one in found if one["bench"] == bench]


def speeds(path: Path) -> Path:
    """The last measurement of gradients."""
    return draw_speeds(GradientSpeeds.from_json(_known(history("gradients")[-1])), path)


def _known(line: dict[str, object]) -> dict[str, object]:
    """Without what every line of the history has."""
    return {k: v for k, v in line.items() if k in GradientSpeeds.__dataclass_fields__}


def costs(path: Path) -> Path:
    """The measurement of rounds that has three graphs, as far as they all go."""
    tables = [line["rows"] for line in history("rounds")]
    every = [[RoundCost.from_json(row) for row in rows] for rows in tables]
    rows = next(
        rows for rows in reversed(every) if set(GRAPHS) <= {row.graph for row in rows}
    )
    shown = [
        row
        for graph in GRAPHS
        for row in rows
        if row.graph == graph and row.model == "lenet" and row.agents <= MOST
    ]
    return draw_costs(shown, path)


def main(folder: Path) -> None:
    """Draw all of them."""
    frontier(folder / "frontier.png")
    convergence(folder / "convergence-bipartite.png")
    speeds(folder / "speeds.png")
    costs(folder / "costs.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
