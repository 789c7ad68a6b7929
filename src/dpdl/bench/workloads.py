"""The workloads of `dpdl bench rounds`; wrong ones are refused before torch is imported."""

from __future__ import annotations

from dpdl.algorithms import named, usable
from dpdl.errors import InputError
from dpdl.folder.bench_results import Workload
from dpdl.graph import build

SHAPES = {"lenet": (1, 28, 28), "cnn": (3, 32, 32)}


def workloads(
    algorithms: str, graphs: str, agents: str, model: str, batch: int, rounds: int
) -> list[Workload]:
    """All combinations of names and numbers separated by commas; every algorithm: `all`."""
    refuse_other_model(model)
    try:
        counts = [int(part) for part in agents.split(",")]
    except ValueError:
        raise InputError(
            f"agents must be whole numbers separated by commas, not {agents!r}."
        ) from None
    chosen = usable() if algorithms == "all" else algorithms.split(",")
    for name in chosen:
        named(name)  # refuses what there is not
    shapes = [(graph, count) for graph in graphs.split(",") for count in counts]
    for graph, count in shapes:
        build(graph, count)  # refuses what there is not
    return [
        Workload(algorithm, graph, count, model, batch, rounds)
        for algorithm in chosen
        for graph, count in shapes
    ]


def refuse_other_model(model: str) -> None:
    """Refuse a model that is not measured."""
    if model not in SHAPES:
        raise InputError(f"model must be one of {', '.join(SHAPES)}, not {model!r}.")
