"""How the records of a run are divided: written when it starts, for a page about it.

`partition.json` is private. It holds how many records of each class each agent holds, which no
epsilon covers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.errors import InputError
from dpdl.folder import files
from dpdl.folder.run_folder import RunFolder
from dpdl.records import Record
from dpdl.tasks.partition import class_counts

if TYPE_CHECKING:
    from dpdl.planning.plan import Plan


@final
@dataclass(frozen=True)
class ClassCounts(Record):
    """How many records of each class each agent holds."""

    FORMAT = 1

    dataset: str
    partition: str  # the rule that divided them
    counts: tuple[tuple[int, ...], ...]  # of agent i and class c: [i][c]

    def __post_init__(self) -> None:
        if len({len(row) for row in self.counts}) != 1:
            raise InputError("counts must be a table.")

    @classmethod
    def of_plan(cls, plan: Plan) -> ClassCounts:
        """Those of a run that is about to start."""
        data = plan.data
        counts = class_counts(plan.parts, data.y, data.classes).tolist()
        return cls(data.name, plan.experiment.partition, tuple(map(tuple, counts)))


def write(run: RunFolder, counts: ClassCounts) -> None:
    """Keep them in the run folder."""
    content = json.dumps(counts.to_json()) + "\n"
    files.write(run.partition_path, content.encode())


def read(run: RunFolder) -> ClassCounts | None:
    """Those that the run folder holds; None: it has none. A damaged file is refused."""
    path = run.partition_path
    return files.read_record(ClassCounts, path) if path.exists() else None
