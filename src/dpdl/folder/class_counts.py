"""How the records of a run are divided: written when it starts, for a page about it.

`partition.json` is private. It tells how many records of each class each agent holds, which no
epsilon covers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, final

from dpdl.errors import InputError
from dpdl.folder import files
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan
from dpdl.tasks.partition import class_counts

FORMAT = 1


@final
@dataclass(frozen=True)
class ClassCounts:
    """How many records of each class each agent holds."""

    dataset: str
    partition: str  # the rule that divided them
    counts: tuple[tuple[int, ...], ...]  # of agent i and class c: [i][c]

    @classmethod
    def of_plan(cls, plan: Plan) -> ClassCounts:
        """Those of a run that is about to start."""
        data = plan.data
        counts = class_counts(plan.parts, data.y, data.classes).tolist()
        return cls(data.name, plan.experiment.partition, tuple(map(tuple, counts)))


def write(run: RunFolder, counts: ClassCounts) -> None:
    """Keep them in the run folder."""
    content = json.dumps({"format": FORMAT, **asdict(counts)}) + "\n"
    files.write(run.partition_path, content.encode())


def read(run: RunFolder) -> ClassCounts | None:
    """Those that the run folder holds; None: it has none. A damaged file is refused."""
    path = run.partition_path
    try:
        return _parsed(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, ValueError) as failure:
        raise InputError(f"File {str(path)!r} is damaged: {failure!r}.") from failure


def _parsed(content: Any) -> ClassCounts:
    if content["format"] != FORMAT:
        raise ValueError(f"it has format {content['format']!r}")
    counts = tuple(tuple(map(int, row)) for row in content["counts"])
    if not counts or len({len(row) for row in counts}) != 1:
        raise ValueError("its counts are no table")
    return ClassCounts(str(content["dataset"]), str(content["partition"]), counts)
