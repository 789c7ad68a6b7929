"""The file of a reproduced cell: what every seed reached, beside the paper's number.

One small JSON file per cell and mode, with one value and one curve per seed.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.bounds import whole_in
from dpdl.errors import InputError
from dpdl.folder.files import write
from dpdl.foreign import read_json
from dpdl.paper.cells import CellRecord
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import FORMAT, Json, Record, absent
from dpdl.text import shown

EAVESDROPPER = "eavesdropper"


@final
@dataclass(frozen=True)
class Curve(Record):
    """Training loss of the agents, and accuracy of the average model, over the rounds of one run.

    A loss is None where no agent had a finite one; accuracies are in percent.
    """

    rounds: tuple[int, ...]
    loss: tuple[float | None, ...]  # mean over the agents
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]
    accuracy: tuple[float, ...]


@final
@dataclass(frozen=True)
class SeedResult(Record):
    """What the run of one seed reached; accuracies are in percent.

    None: the value was not recorded, by an older version or by a person.
    """

    accuracy: float  # of the average of all models
    agents_mean: float | None
    agents_worst: float | None
    sigma: float | None
    epsilon: Mapping[str, Epsilon] | None  # by threat model
    seconds: float
    versions: Mapping[str, str]
    commit: str | None
    curve: Curve | None = absent()  # noqa: RUF009, it is a field

    @property
    def proven(self) -> Epsilon:
        """The epsilon against an eavesdropper on all links."""
        return (self.epsilon or {}).get(EAVESDROPPER, Epsilon(None))


@final
@dataclass(frozen=True)
class CellResult(CellRecord):
    """All seeds of a cell in one mode, beside what the paper reports; accuracies in percent."""

    FORMAT = 1

    mode: str
    ours: float  # mean over the seeds
    spread: float | None  # standard deviation; None for a single seed
    paper: float
    paper_spread: float
    paper_algorithm: str  # whose number of the paper stands beside ours
    guarantee: str
    accuracy: str  # in prose: of which model, on which records
    runs: Mapping[str, SeedResult]  # by seed
    settings: Mapping[str, Json]  # the experiment, without its seed
    note: str | None = absent()  # written by a person

    def __post_init__(self) -> None:
        for seed in self.runs:
            if whole_in(seed) is None:
                raise InputError(f"runs must be by seed, not by {shown(seed)}.")
        if not self.runs:
            raise InputError("runs must hold at least one seed.")


def in_order(runs: Mapping[str, SeedResult]) -> dict[str, SeedResult]:
    """Runs by seed, in ascending order."""
    return dict(sorted(runs.items(), key=lambda item: int(item[0])))


def mean_and_spread(runs: Mapping[str, SeedResult]) -> tuple[float, float | None]:
    """Mean accuracy, and the standard deviation if there are several seeds."""
    values = [run.accuracy for run in runs.values()]
    spread = round(statistics.stdev(values), 2) if len(values) > 1 else None
    return round(statistics.fmean(values), 2), spread


# ------------------------------------------------------------------ files
def read_result(path: Path) -> CellResult | None:
    """The result in a file; None if there is no file."""
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Result {str(path)!r} cannot be read: {failure}."
        ) from failure
    if not is_result(content):
        raise InputError(
            f"Result {str(path)!r} was written by another version of dpdl; move it, or "
            "choose another --out."
        )
    return CellResult.from_json(content, f"Result {str(path)!r}")


def is_result(content: Json) -> bool:
    """Whether the content of a file is a result of this format."""
    return isinstance(content, dict) and content.get(FORMAT) == CellResult.FORMAT


def write_result(path: Path, result: CellResult) -> None:
    """Replace the file; every list of numbers is one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result.to_json(), indent=2, allow_nan=False)
    numbers = re.compile(r"\[\n([^][{}\"]*)\]")
    text = numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", text)
    write(path, (text + "\n").encode())
