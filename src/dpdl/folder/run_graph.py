"""The graph of a run: as its options name it, or as its ledger holds it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.folder.bill import graph_of
from dpdl.folder.book import read
from dpdl.folder.run_folder import RunFolder
from dpdl.graph import GRAPHS, Graph, build


def graph_hash(graph: Graph) -> str:
    """What `experiment.json` has under `graph_sha256`."""
    return hashlib.sha256(graph.W.tobytes()).hexdigest()


def named_graph(options: Mapping[str, Any], digest: str | None) -> Graph | None:
    """The graph that the options of a run name; None unless it has this hash."""
    names = ("graph", "agents", "weights", "seed")
    try:
        graph = build(*(options[name] for name in names))
    except InputError:
        return None
    return graph if graph_hash(graph) == digest else None


def graph_of_run(run: RunFolder) -> Graph:
    """The graph of a run; refused when neither its options nor its ledger give it."""
    facts = run.facts()
    options = facts["experiment"]
    if named := named_graph(options, facts.get("graph_sha256")):
        return named
    header = read(run.ledger_path).header
    if "weights" not in header:
        raise InputError(
            f"Run {str(run.path)!r} has a graph of its own, which its folder does not "
            "hold."
        )
    name = options["graph"]
    of_file = str(name).partition(":")[0] not in GRAPHS
    return replace(graph_of(header), name=Path(name).name if of_file else "given")
