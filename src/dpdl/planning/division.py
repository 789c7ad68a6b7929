"""One data set divided among simulated agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.keys import generator
from dpdl.planning.build import make_algorithm
from dpdl.planning.site import AgentRecords, EvaluationRecords
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.partition import partition
from dpdl.tasks.targets import Classes

FEWEST_RECORDS = 10
BY_NUMBER = ("iid", "quantity")
"""The partitions that do not look at classes."""


@final
@dataclass(frozen=True)
class Division:
    """A data set, and the record numbers of every agent. Whoever has it sees all records."""

    data: Dataset
    parts: Sequence[np.ndarray] = field(repr=False)
    stored: Form | None = None  # of records that features stand in for
    common_test = True

    @property
    def form(self) -> Form:
        """The form of a record as it is stored, before features are computed."""
        return self.stored or self.data.form

    @property
    def name(self) -> str:
        """That of the data set."""
        return self.data.name

    def records(self, agents: Iterable[int]) -> dict[int, AgentRecords]:
        """Those of some agents."""
        x, y = self.data.x, self.data.y
        return {j: AgentRecords(x, y, self.parts[j]) for j in agents}

    def tests(self, agents: Iterable[int]) -> dict[int, EvaluationRecords]:
        """The data set's, for all agents alike."""
        return dict.fromkeys(
            agents, EvaluationRecords(self.data.x_test, self.data.y_test)
        )

    def hashes(self, agents: Iterable[int]) -> dict[str, str]:
        """None of single agents: all processes have all records, and one hash of them."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all records."""
        return self.data.fingerprint()


def split(e: Experiment, data: Dataset, agents: int) -> list[np.ndarray]:
    """The record numbers of every agent; each gets at least a batch, and at least ten.

    Public records are left out.
    """
    public = make_algorithm(e).public_records
    private = np.sort(shuffled(e, len(data.y))[public:])
    parts = divide(e, _classes(e, data)[private], agents)
    return [private[part] for part in parts]


def _classes(e: Experiment, data: Dataset) -> np.ndarray:
    """The class of every record; one for all where records have none."""
    if isinstance(data.targets, Classes):
        return np.asarray(data.y.numpy())
    if e.partition not in BY_NUMBER:
        raise InputError(
            f"The partition {e.partition} is by classes, and records of {data.name} have none; "
            f"take {' or '.join(BY_NUMBER)}."
        )
    return np.zeros(len(data.y), dtype=np.int64)


def divide(e: Experiment, y: np.ndarray, agents: int) -> Sequence[np.ndarray]:
    """The same for records of which only the labels are known."""
    least = 0 if e.rate is not None else e.batch or 0
    return partition(
        e.partition,
        y,
        agents,
        alpha=e.alpha_d,
        least=max(FEWEST_RECORDS, least),
        seed=e.seed,
        classes_per_agent=e.classes_per_agent,
    )


def shuffled(e: Experiment, records: int) -> np.ndarray:
    """All record numbers in the order that decides which are public."""
    return generator(e.seed, "validation").permutation(records)
