"""What `dpdl data describe` finds out: how a data set is divided among agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from dpdl.experiment.experiment import Experiment
from dpdl.planning.division import split
from dpdl.report.figures import draw_partition
from dpdl.tasks.data import load
from dpdl.tasks.partition import class_counts


class Description(NamedTuple):
    """A data set and its partition."""

    title: str
    facts: dict[str, Any]  # for programs
    counts: list[list[int]]  # of agent i and class c: [i][c]
    picture: Path


def describe(
    experiment: Experiment, out: Path | None = None, progress: bool = False
) -> Description:
    """Count the records of every class that every agent would hold, and draw them."""
    e = experiment.resolved()
    data = load(e.dataset, progress=progress)
    counts = class_counts(split(e, data, e.agents), data.y, data.classes)
    picture = out or Path(f"partition-{Path(data.name).stem}-{e.agents}.png")
    skew = f", alpha_d = {e.alpha_d:g}" if "dirichlet" in e.partition else ""
    title = f"{data.name}, {e.partition}{skew}"
    draw_partition(counts, picture, title)
    facts = {
        "dataset": data.name,
        "partition": e.partition,
        "records": len(data.y),
        "test_records": len(data.y_test),
        "classes": data.classes,
        "shape": list(data.shape),
        "counts": counts.tolist(),
        "picture": str(picture),
    }
    return Description(title, facts, counts.tolist(), picture)
