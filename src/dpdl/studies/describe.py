"""What `dpdl data describe` finds out: how a data set is divided among agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

from dpdl.experiment.experiment import Experiment
from dpdl.extras import drawn
from dpdl.folder.files import among_runs
from dpdl.pages.figures import draw_partition
from dpdl.planning.division import split
from dpdl.records import Record
from dpdl.tasks.data import load
from dpdl.tasks.partition import class_counts


@final
@dataclass(frozen=True, kw_only=True)
class PartitionFacts(Record):
    """A data set and how many records of every class every agent would hold."""

    dataset: str
    partition: str
    records: int
    test_records: int
    classes: int
    shape: tuple[int, ...]  # of one record
    counts: tuple[tuple[int, ...], ...]  # of agent i and class c: [i][c]
    picture: str | None  # None: there is nothing to draw with


class Description(NamedTuple):
    """A partition under its title."""

    title: str
    facts: PartitionFacts


def describe(
    experiment: Experiment, out: Path | None = None, progress: bool = False
) -> Description:
    """Count the records of every class that every agent would hold, and draw them."""
    e = experiment.resolved()
    data = load(e.dataset, progress=progress)
    counts = class_counts(split(e, data, e.agents), data.y, data.classes)
    file = f"partition-{Path(data.name).stem}-{e.agents}.png"
    skew = f", alpha_d = {e.alpha_d:g}" if "dirichlet" in e.partition else ""
    title = f"{data.name}, {e.partition}{skew}"
    picture = drawn(
        lambda: str(draw_partition(counts, out or among_runs(file), title)), None
    )
    facts = PartitionFacts(
        dataset=data.name,
        partition=e.partition,
        records=len(data.y),
        test_records=len(data.y_test),
        classes=data.classes,
        shape=tuple(data.shape),
        counts=tuple(map(tuple, counts.tolist())),
        picture=picture,
    )
    return Description(title, facts)
