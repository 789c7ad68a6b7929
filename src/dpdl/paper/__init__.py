"""What the paper published: 540 cells of accuracy and 216 of attacks, in `tables.json`, and six figures."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from dpdl.errors import InputError, unknown

ATTACKED_ROUNDS = (200, 400, 800)
ATTACKED_EPSILON = {"mnist": 0.5, "cifar10": 4.0}
"""Claimed by Theorem 1, for the rows with DPDL's noise."""
FIGURES: dict[str, dict[str, Any]] = {
    f"conv-{short}-{graph}": {"dataset": dataset, "graph": graph, "alpha_d": 0.25}
    for short, dataset in (("mnist", "mnist"), ("cifar", "cifar10"))
    for graph in ("bipartite", "complete", "ring")
}
"""Training loss over rounds of all cells with these values: a panel for every N and epsilon, a line per algorithm."""


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    """Both kinds of cells, `accuracy` and `attack`."""
    found: dict[str, list[dict[str, Any]]] = json.loads(
        files(__package__).joinpath("tables.json").read_text("utf-8")
    )
    return found


def names() -> list[str]:
    """All tables and figures."""
    return sorted(
        {cell["table"] for cells in tables().values() for cell in cells} | set(FIGURES)
    )


def attacks(dataset: str, graph: str, agents: int) -> dict[str, dict[str, float]]:
    """Scenario -> metric -> what the paper measured in round 800."""
    cells = tables()["attack"]
    for name, value in (("dataset", dataset), ("graph", graph)):
        known = sorted({cell[name] for cell in cells})
        if value not in known:
            raise unknown(f"{name} of the paper's attack tables", value, known)
    sizes = sorted({cell["agents"] for cell in cells})
    if agents not in sizes:
        raise InputError(
            f"The paper attacked {', '.join(map(str, sizes))} agents, not {agents}."
        )
    found: dict[str, dict[str, float]] = {}
    for cell in cells:
        if (cell["dataset"], cell["graph"], cell["agents"]) == (dataset, graph, agents):
            found.setdefault(cell["scenario"], {})[cell["metric"]] = cell["value"]
    return found
