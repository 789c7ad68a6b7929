"""Pictures of the documentation that are made of kept results: `python tools/redraw.py [FOLDER]`.

Those of docs/architecture.md are drawn by `tools/pictures.py`, and all others by the command that
their page names. Nothing is measured here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dpdl.folder.bench_results import GradientSpeeds, RoundCost
from dpdl.folder.calibration_study import cosine_lines, study_lines
from dpdl.pages.calibration_pictures import draw_cosines, draw_leads, draw_tiles
from dpdl.pages.captions import Words
from dpdl.pages.claims_frontier import Place, draw_claims
from dpdl.pages.convergence import draw_convergence
from dpdl.pages.speed import draw_costs, draw_speeds
from dpdl.paper.cells import DPDL, algorithms_of_paper, published
from dpdl.studies.reproduce.beside_paper import every_cell
from dpdl.studies.reproduce.claims import Claim, claims
from dpdl.studies.reproduce.measure_cells import cells_with_curves
from dpdl.studies.reproduce.recipes import MODES

HOME = Path(__file__).parents[1]
RESULTS, IMAGES = HOME / "results", HOME / "docs/images"
GRAPHS = ("ring", "bipartite", "complete")
MOST = 100
"""Agents of the largest graph in the picture of costs."""


def frontier(path: Path, results: Path = RESULTS) -> Path:
    """The paper's claims, our best at those epsilons, and central results."""
    best = {one.cell.of_dpdl: one for one in claims(results, every_cell()).cells}
    places = [
        Place(*cell[:-1], entry.accuracy, _own(best.get(cell)))
        for cell, entry in published().items()
        if cell.algorithm == DPDL
    ]
    measured = sum(one.ours is not None for one in places)
    words = Words(
        "Accuracy and privacy: the paper's claims, and what is proven",
        f"{measured} of {len(places)} claims for DPDL are measured at a proven epsilon (an eavesdropper on "
        "all links, delta 1e-5): the mean of the agents' own models, with the best algorithm. Of each "
        "graph, from left to right: 10, 20, 30 agents, each with alpha_d 0.25 and 1. Thin lines join "
        "a claim and what is reached.",
    )
    return draw_claims(places, path, words)


def _own(found: Claim | None) -> float | None:
    """The mean of the agents' own models, or of the average where runs lack that."""
    if found is None:
        return None
    return found.average_model if found.agents_mean is None else found.agents_mean


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


def cross_gradients(folder: Path) -> None:
    """The three of docs/cross-gradients.md."""
    study = study_lines(RESULTS / "study/cross-gradients.jsonl")
    cosines = cosine_lines(RESULTS / "study/cosines.jsonl")
    draw_cosines(cosines, folder / "cosines.png")
    others = ("blind", "dp-dmsgd", "muffliato")
    draw_leads(study, others, folder / "cross-gradients-leads.png")
    place = folder / "cross-gradients-where.png"
    draw_tiles(study, "dp-dmsgd", "mnist-linear", place)


def main(folder: Path) -> None:
    """Draw all of them."""
    frontier(folder / "frontier.png")
    convergence(folder / "convergence-bipartite.png")
    speeds(folder / "speeds.png")
    costs(folder / "costs.png")
    cross_gradients(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
