"""What can be refused before torch is imported: names, files that are not there, and the graph.

A plan checks all of it again. Whoever mistypes a name should not wait for torch to read so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dpdl import graph as graphs
from dpdl.errors import InputError, unknown
from dpdl.experiment import names
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from dpdl.objects import load_object
from dpdl.planning.budget import parse
from dpdl.planning.build import make_algorithm
from dpdl.tasks.data import check_name
from dpdl.tasks.data.named import FILES

OWN = "or your own as module:Class"
OWN_FUNCTION = "or your own module:function"


def look_ahead(experiment: Experiment) -> Graph:
    """The graph of an experiment whose names are all known; what is wrong is an `InputError`."""
    e = experiment.resolved()
    graph = graphs.build(e.graph, e.agents, e.weights, e.seed)
    make_algorithm(e).check(graph)
    if e.budget is not None:
        parse(e.budget, len(graph), e.delta)
    check_names(e)
    return graph


def check_names(e: Experiment) -> None:
    """Refuse data, models, losses and scores that do not exist."""
    check_data(e)
    _check("model", e.model, names.models, OWN)
    _check("loss", e.loss, names.losses, OWN_FUNCTION)
    _check("score", e.score, names.scores, OWN_FUNCTION)


def check_data(e: Experiment) -> None:
    """Refuse a data set that has no such name, or whose file is not there.

    Sites are left alone: some of them may be on other machines.
    """
    if e.sites is not None:
        return
    name = e.dataset
    check_name(name)
    if name.endswith(FILES):
        if not Path(name).expanduser().is_file():
            raise InputError(f"The data file {name} does not exist.")
    elif ":" in name:
        load_object(name, "dataset")


def _check(
    kind: str, name: str | None, known: Callable[[], Sequence[str]], also: str
) -> None:
    if name is None or name in known():
        return
    if ":" not in name:
        raise unknown(kind, name, known(), also=also)
    load_object(name, kind)
