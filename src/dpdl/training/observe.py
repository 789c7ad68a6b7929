"""What is measured while training; `dpdl.training.instruments` decides who may know what of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dpdl.folder.metrics import AgentLosses
from dpdl.folder.scored import AgentScores
from dpdl.parallel import each
from dpdl.planning.site import EvaluationRecords, Site
from dpdl.rows import first_equal
from dpdl.tasks.data.form import Form
from dpdl.tasks.directions import centred
from dpdl.tasks.scores import Score
from dpdl.tasks.task import Task

TEST_CHUNK = 250
DIGITS = 5
"""Of a single agent's score in a file, where 200 agents make a line of 2,000 characters."""


class Examiner:
    """Tests models, equal ones on the same records once.

    An agent's model is tested on that agent's test records. One of an agent that is not hosted here
    is tested on those of the first agent that is.
    """

    def __init__(
        self,
        task: Task,
        form: Form,
        tests: Mapping[int, EvaluationRecords],
        common: bool,
        centres: Mapping[int, Tensor] | None = None,
    ) -> None:
        self._task = task
        self._centres = _distinct(centres or {})
        self.agents = list(tests)  # those hosted here
        self.common = common  # all agents of the run have the same test records
        self.like = task.initial  # a row as all are
        distinct = list({id(one): one for one in tests.values()}.values())
        numbers = {id(one): number for number, one in enumerate(distinct)}
        self._of = {agent: numbers[id(one)] for agent, one in tests.items()}
        self._parts = [_parts(task, form, one) for one in distinct]
        self._records = [len(one.y) for one in distinct]

    @classmethod
    def of(cls, site: Site) -> Examiner:
        """What tests the models of the agents that a process hosts."""
        plan = site.plan
        return cls(plan.task, plan.form, site.tests, site.common_test, site.centres)

    def scores(self, rows: Tensor, agents: Sequence[int]) -> Tensor:
        """The score of every row's model on the test records of its agent: (rows,) float64."""
        tests = [self._of.get(agent, 0) for agent in agents]
        around = [self._centres.number(agent) for agent in agents]
        wanted = list(zip(first_equal(rows), tests, around, strict=True))
        pieces = [
            (case, part)
            for case in sorted(set(wanted))
            for part in range(len(self._parts[case[1]]))
        ]

        def total(piece: tuple[tuple[int, int, int], int]) -> float:
            (k, test, centre), part = piece
            x, y = self._parts[test][part]
            x = self._centres.seen(centre, x)
            return self._task.score.total(self._task.outputs(rows[k].clone(), x), y)

        totals = dict.fromkeys(wanted, 0.0)
        for (case, _), found in zip(pieces, each(total, pieces), strict=True):
            totals[case] += found
        means = [totals[case] / self._records[case[1]] for case in wanted]
        return torch.tensor(means, dtype=torch.float64)

    def score(self, row: Tensor) -> float:
        """The score of one model on the first test records."""
        return float(self.scores(row[None], self.agents[:1]))


class Centres(NamedTuple):
    """The centres of features of the agents hosted here, equal ones once."""

    rows: list[Tensor]
    of: dict[int, int]  # by agent

    def __repr__(self) -> str:
        return f"Centres({len(self.rows)} of {len(self.of)} agents)"

    def number(self, agent: int) -> int:
        """Which one an agent has; one that is not hosted here has the first."""
        return self.of.get(agent, 0)

    def seen(self, number: int, x: Tensor) -> Tensor:
        """Records as a model sees them."""
        return centred(x, self.rows[number]) if self.rows else x


def _distinct(centres: Mapping[int, Tensor]) -> Centres:
    if not centres:
        return Centres([], {})
    rows = torch.stack(list(centres.values()))
    first = first_equal(rows)
    kept = sorted(set(first))
    numbers = (kept.index(k) for k in first)
    return Centres([rows[k] for k in kept], dict(zip(centres, numbers, strict=True)))


def _parts(
    task: Task, form: Form, test: EvaluationRecords
) -> list[tuple[Tensor, Tensor]]:
    """The test records in pieces for one core each."""
    x = form.inputs(test.x, task.initial.dtype).split(TEST_CHUNK)
    y = form.targets.values(test.y, task.initial.dtype).split(TEST_CHUNK)
    return list(zip(x, y, strict=True))


class Reports(NamedTuple):
    """What the agents report of a round, summed up."""

    train_loss: AgentLosses
    diagnostics: dict[str, float | None]  # of the algorithm, by name


def summed_up(values: Mapping[str, Tensor]) -> Reports:
    """Statistics of what agents report, one value per agent.

    What nobody may know is None, or left out when it is not in every algorithm.
    """
    rest = dict(values)
    rest.pop("broken_gradients", None)  # they are counted over all rounds
    loss = rest.pop("train_loss", torch.zeros(0))
    losses = AgentLosses(
        *(_finite(loss, of) for of in (torch.mean, torch.min, torch.max))
    )
    means = {name: _finite(value, torch.mean) for name, value in rest.items()}
    return Reports(losses, means)


def agent_scores(score: Score, values: Tensor, average: float) -> AgentScores:
    """Statistics of the scores of all agents; `average` is that of their average model."""
    lowest, highest = float(values.min()), float(values.max())
    ends = (highest, lowest) if score.lower_is_better else (lowest, highest)
    each_one = tuple(float(f"{value:.{DIGITS}g}") for value in values.tolist())
    return AgentScores(score.name, float(values.mean()), *ends, average, each_one)


def consensus_distance(models: Tensor) -> float:
    """Root mean square distance of the agents' models from their average."""
    models = models.double()
    return math.sqrt(float((models - models.mean(dim=0)).square().sum(dim=1).mean()))


def _finite(values: Tensor, of: Callable[[Tensor], Tensor]) -> float | None:
    """A statistic over the agents that have a finite value; None when there is no such agent."""
    values = values[values.isfinite()]
    return float(of(values)) if len(values) else None
