"""The graph of a run: as its options name it, or as its ledger holds it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.folder.ledger_content import read
from dpdl.folder.ledger_cost import graph_of
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.graph import GRAPHS, Graph, build
from dpdl.records import Record


@final
@dataclass(frozen=True)
class GraphOptions(Record):
    """The options of an experiment that name its graph."""

    graph: str
    agents: int | None
    weights: str
    seed: int

    @property
    def of_file(self) -> bool:
        """Whether the graph is read from a file, which knows its number of agents."""
        return self.graph.partition(":")[0] not in GRAPHS

    def build(self) -> Graph:
        """The graph."""
        return build(self.graph, self.agents, self.weights, self.seed)


def graph_hash(graph: Graph) -> str:
    """What `experiment.json` has under `graph_sha256`."""
    return hashlib.sha256(graph.W.tobytes()).hexdigest()


def named_graph(facts: RunFacts) -> Graph | None:
    """The graph that the options of a run name; None unless it has the hash of the run's graph."""
    try:
        graph = GraphOptions.from_json(dict(facts.experiment)).build()
    except InputError:
        return None
    return graph if graph_hash(graph) == facts.graph_sha256 else None


def graph_of_run(run: RunFolder) -> Graph:
    """The graph of a run; refused when neither its options nor its ledger give it."""
    facts = run.facts()
    if named := named_graph(facts):
        return named
    options = GraphOptions.from_json(dict(facts.experiment))
    header = read(run.ledger_path).header
    if header.weights is None:
        raise InputError(
            f"Run {str(run.path)!r} has a graph of its own, which its folder does not "
            "hold."
        )
    name = Path(options.graph).name if options.of_file else "given"
    return replace(graph_of(header), name=name)
