"""Results of the paper's attack tables.

One small JSON file per data set, graph and number of agents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.files import write_json
from dpdl.paper import tables
from dpdl.paper.cells import Place, places
from dpdl.studies.reproduce.printed import Count


def path_of(out: Path, place: Place) -> Path:
    """Where the result of a place is."""
    return out / names.ATTACK_RESULTS / names.result_of(place.name)


def read(out: Path, place: Place) -> dict[str, Any] | None:
    """The result of a place; None when nothing was measured."""
    path = path_of(out, place)
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Result {str(path)!r} cannot be read: {failure}."
        ) from failure
    if not isinstance(found, dict) or not isinstance(found.get("paper"), list):
        raise InputError(
            f"Result {str(path)!r} holds no attack beside the paper's; move it, or "
            "choose another --out."
        )
    return found


def add(out: Path, place: Place, result: Mapping[str, Any]) -> None:
    """Keep the result of a place."""
    path = path_of(out, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, result)


def compared(out: Path, chosen: Iterable[Place]) -> list[dict[str, Any]]:
    """The measured rows of the tables: every metric as the paper has it and as ours."""
    return [
        row for place in chosen for row in (read(out, place) or {"paper": []})["paper"]
    ]


def count(out: Path) -> Count:
    """How many numbers of the attack tables were measured; a cell is one metric of one row."""
    about = ("dataset", "graph", "agents", "scenario")
    measured = {
        (*(row[name] for name in about), metric)
        for row in compared(out, places())
        for metric, both in row.items()
        if isinstance(both, dict) and both.get("ours") is not None
    }
    wanted = {
        (cell.dataset, cell.graph, cell.agents, cell.scenario, cell.metric)
        for cell in tables().attack
    }
    return Count(len(wanted & measured), len(wanted))
