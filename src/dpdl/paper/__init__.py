"""The numbers that the paper published: 540 cells of accuracy, 216 cells of attacks, in `tables.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from dpdl.errors import InputError, unknown

ATTACKED_ROUNDS = (200, 400, 800)
ATTACKED_EPSILON = {"mnist": 0.5, "cifar10": 4.0}
"""Claimed by Theorem 1, for the rows with DPDL's noise."""


@cache
def tables() -> dict[str, list[dict[str, Any]]]:
    """Both kinds of cells, `accuracy` and `attack`."""
    found: dict[str, list[dict[str, Any]]] = json.loads(files(__package__).joinpath("tables.json").read_text("utf-8"))
    return found


def attacks(dataset: str, graph: str, agents: int) -> dict[str, dict[str, float]]:
    """Scenario -> metric -> what the paper measured in round 800."""
    cells = tables()["attack"]
    for name, value in (("dataset", dataset), ("graph", graph)):
        known = sorted({cell[name] for cell in cells})
        if value not in known:
            raise unknown(f"{name} of the paper's attack tables", value, known)
    sizes = sorted({cell["agents"] for cell in cells})
    if agents not in sizes:
        raise InputError(f"The paper attacked {', '.join(map(str, sizes))} agents, not {agents}.")
    found: dict[str, dict[str, float]] = {}
    for cell in cells:
        if (cell["dataset"], cell["graph"], cell["agents"]) == (dataset, graph, agents):
            found.setdefault(cell["scenario"], {})[cell["metric"]] = cell["value"]
    return found
