"""What the paper published: 540 accuracies and 216 numbers of attacks, in `tables.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple, final

from dpdl.errors import InputError, unknown
from dpdl.records import Record

ATTACKED_ROUNDS = (200, 400, 800)
ATTACKED_EPSILON = {"mnist": 0.5, "cifar10": 4.0}
"""Claimed by Theorem 1, for the rows with DPDL's noise."""


class PaperFigure(NamedTuple):
    """A figure of convergence: training loss over the rounds of all cells with these values.

    It has a panel for every number of agents and epsilon, and a line for every algorithm.
    """

    dataset: str
    graph: str
    alpha_d: float


FIGURES = {
    f"conv-{short}-{graph}": PaperFigure(dataset, graph, 0.25)
    for short, dataset in (("mnist", "mnist"), ("cifar", "cifar10"))
    for graph in ("bipartite", "complete", "ring")
}


@final
@dataclass(frozen=True)
class PublishedAccuracy(Record):
    """One number of a table of accuracies, in percent."""

    dataset: str
    graph: str
    agents: int
    alpha_d: float
    epsilon: float
    algorithm: str
    accuracy: float
    spread: float
    table: str


@final
@dataclass(frozen=True)
class PublishedAttack(Record):
    """One number of a table of attacks, measured in round 800."""

    dataset: str
    scenario: str
    graph: str
    agents: int
    metric: str
    value: float
    table: str


@final
@dataclass(frozen=True)
class PaperTables(Record):
    """All numbers of all tables."""

    accuracy: tuple[PublishedAccuracy, ...]
    attack: tuple[PublishedAttack, ...]


@cache
def tables() -> PaperTables:
    """The content of `tables.json`."""
    text = files(__package__).joinpath("tables.json").read_text("utf-8")
    return PaperTables.from_json(json.loads(text), "tables.json")


def names() -> list[str]:
    """The names of all tables and figures."""
    every = tables()
    accuracies = {cell.table for cell in every.accuracy}
    attacked = {cell.table for cell in every.attack}
    return sorted(accuracies | attacked | set(FIGURES))


def attacks(dataset: str, graph: str, agents: int) -> dict[str, dict[str, float]]:
    """Scenario -> metric -> what the paper measured in round 800."""
    cells = tables().attack
    _refuse_other("dataset", dataset, {cell.dataset for cell in cells})
    _refuse_other("graph", graph, {cell.graph for cell in cells})
    sizes = sorted({cell.agents for cell in cells})
    if agents not in sizes:
        allowed = ", ".join(map(str, sizes))
        raise InputError(f"The paper attacked {allowed} agents, not {agents}.")
    found: dict[str, dict[str, float]] = {}
    for cell in cells:
        if (cell.dataset, cell.graph, cell.agents) == (dataset, graph, agents):
            found.setdefault(cell.scenario, {})[cell.metric] = cell.value
    return found


def _refuse_other(name: str, value: str, known: set[str]) -> None:
    if value not in known:
        raise unknown(f"{name} of the paper's attack tables", value, sorted(known))
