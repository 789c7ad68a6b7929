"""Results of the paper's attack tables.

One small JSON file per data set, graph and number of agents.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dpdl.folder import names
from dpdl.folder.attack_facts import PaperRow, PlaceFacts
from dpdl.folder.files import read_record, write_json
from dpdl.paper import tables
from dpdl.paper.cells import AttackedPlace, places
from dpdl.studies.reproduce.printed import Count


def path_of(out: Path, place: AttackedPlace) -> Path:
    """Where the result of a place is."""
    return out / names.ATTACK_RESULTS / names.result_of(place.name)


def read(out: Path, place: AttackedPlace) -> PlaceFacts | None:
    """The result of a place; None when nothing was measured."""
    path = path_of(out, place)
    return read_record(PlaceFacts, path) if path.exists() else None


def add(out: Path, place: AttackedPlace, result: PlaceFacts) -> None:
    """Keep the result of a place."""
    path = path_of(out, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, result.to_json())


def paper_rows(out: Path, chosen: Iterable[AttackedPlace]) -> list[PaperRow]:
    """The measured rows of the tables: every metric as the paper has it and as ours."""
    results = [read(out, place) for place in chosen]
    return [row for result in results if result for row in result.paper]


def count(out: Path) -> Count:
    """How many numbers of the attack tables were measured; a cell is one metric of one row."""
    measured = {
        (row.dataset, row.graph, row.agents, row.scenario, metric)
        for row in paper_rows(out, places())
        for metric, both in row.metrics.items()
        if both.ours is not None
    }
    wanted = {
        (cell.dataset, cell.graph, cell.agents, cell.scenario, cell.metric)
        for cell in tables().attack
    }
    return Count(len(wanted & measured), len(wanted))
