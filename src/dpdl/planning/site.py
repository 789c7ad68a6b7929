"""What one process has to itself: the records of the agents it hosts, and their randomness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from dpdl.keys import digest
from dpdl.parallel import each
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Randomness
from dpdl.tasks.directions import gathered
from dpdl.types import Batch


class AgentRecords(NamedTuple):
    """The records of one agent: some rows of a table that it may share with others here."""

    x: Tensor  # (n, ...)
    y: Tensor  # (n, ...)
    rows: np.ndarray  # ascending numbers of the agent's own

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "AgentRecords(private)"


class EvaluationRecords(NamedTuple):
    """What a model is tested on."""

    x: Tensor
    y: Tensor

    def __repr__(self) -> str:
        return "EvaluationRecords(private)"


@final
@dataclass(frozen=True)
class Site:
    """The private half of a run: with the public plan it is all that a process needs."""

    plan: PublicPlan
    records: Mapping[int, AgentRecords] = field(repr=False)  # by agent
    tests: Mapping[int, EvaluationRecords] = field(repr=False)  # by agent
    common_test: bool  # all agents, also those elsewhere, have the same test records
    randomness: Randomness
    centres: Mapping[int, Tensor] | None = field(default=None, repr=False)  # by agent

    def __repr__(self) -> str:
        return f"Site({len(self.records)} agents of {self.plan})"

    @cached_property
    def grad(self) -> PrivateGradient:
        """What the agents hosted here answer with."""
        return self.plan.gradient(self.randomness)

    def altered(self, mechanism: Mechanism, randomness: Randomness) -> Site:
        """The same records under another mechanism, to play rounds aside."""
        return replace(
            self, plan=self.plan.with_mechanism(mechanism), randomness=randomness
        )

    def batches(self, agents: Tensor, t: int) -> list[Batch]:
        """The minibatches of some agents in round t."""
        if self.centres is None:
            return [self._batch(int(j), t) for j in agents]
        # Features take longer than pixels. No centre is there where many batches are made at once.
        return each(lambda j: self._batch(j, t), agents.tolist())

    def _seen(self, agent: int, rows: Tensor) -> Tensor:
        """What the model of an agent sees of its records: around its centre, if there is one."""
        table = self.records[agent].x
        if self.centres is not None:
            return gathered(table, rows, self.centres[agent])
        return self.plan.form.inputs(table[rows], self.plan.task.initial.dtype)

    def with_centres(self, agents: Tensor, rows: Tensor) -> Site:
        """The same with centres that have been released, a row for each agent hosted here."""
        return replace(self, centres=dict(zip(agents.tolist(), rows, strict=True)))

    def drawn(self, agent: int, t: int) -> np.ndarray:
        """The rows of an agent's table that it uses in round t."""
        own, mechanism = self.records[agent], self.plan.mechanism
        drawn = mechanism.draw(len(own), self.randomness, t, agent)
        return np.asarray(own.rows[drawn])

    def _batch(self, j: int, t: int) -> Batch:
        own, plan = self.records[j], self.plan
        rows = torch.from_numpy(self.drawn(j, t))
        key = digest(plan.experiment.seed, "dropout", t, j) % 2**62 + rows
        x = self._seen(j, rows)
        y = plan.form.targets.values(own.y[rows], plan.task.initial.dtype)
        return Batch(x, y, key)
