"""What process 0 may look at of agents that other processes host, and who keeps their state.

In a simulation, and when one process hosts everybody, there is an experimenter who sees all:
losses, clipping, momenta. None of that is covered by an epsilon. So a run that is to protect
records, with agents in several processes, has other instruments: process 0 sees the models, which
are computed from what was released, and whole numbers that are public. Nothing else has a way out
of a process but the exit of `Net`, and an algorithm has no instruments at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, final

import torch
from torch import Tensor

from dpdl.folder.checkpoint import Checkpoint
from dpdl.folder.states import States
from dpdl.training.control import Control
from dpdl.training.observe import Examiner
from dpdl.transport import COLLECT, Post


class Instruments(Protocol):
    """What is measured on process 0. All processes call a method together; others get None."""

    def models(self, x: Tensor) -> Tensor | None:
        """The models of all agents, in agent order, from those of the agents hosted here."""
        ...

    def scores(
        self, examiner: Examiner, x: Tensor, models: Tensor | None
    ) -> Tensor | None:
        """The score of every agent's model."""
        ...

    def score_of_average(
        self, examiner: Examiner, models: Tensor | None
    ) -> float | None:
        """The score of the average of all models."""
        ...

    def diagnostics(self, values: Mapping[str, Tensor]) -> Mapping[str, Tensor] | None:
        """What the algorithm reports of all agents; empty where nobody may know it."""
        ...

    def broken(self, counts: Tensor) -> int | None:
        """How many gradients were broken, all agents together; None where nobody may know it."""
        ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep the state of the agents hosted here; `checkpoint.agents` are their numbers."""
        ...


def instruments_for(
    post: Post, place: Tensor, states: States | None, repeatable: bool
) -> Instruments:
    """The experimenter's, unless records are to be protected from other processes."""
    if records_stay(post, repeatable):
        return PublicInstruments(post, place, states)
    return Experimenter(post, place, states)


def records_stay(post: Post, repeatable: bool) -> bool:
    """Whether nothing that is computed from records without noise may leave a process.

    Repeatable noise hides nothing anyway, and a process that hosts everybody has nobody to tell.
    """
    return post.apart and not repeatable


def gathered(post: Post, place: Tensor, rows: Tensor) -> Tensor | None:
    """The rows of all agents in agent order, on process 0; None elsewhere.

    `place` has the process of every agent.
    """
    if post.size == 1:
        return rows
    if post.rank:
        post.swap(COLLECT, {0: rows}, {}, rows)
        return None
    counts = {r: int((place == r).sum()) for r in range(1, post.size)}
    got = post.swap(COLLECT, {}, counts, rows)
    return torch.cat([rows, *(got[r] for r in sorted(got))])


@final
class Experimenter:
    """Sees all agents, without any noise: for simulation."""

    def __init__(self, post: Post, place: Tensor, states: States | None) -> None:
        self._post, self._place, self._states = post, place, states

    def models(self, x: Tensor) -> Tensor | None:
        """Collected."""
        return self._all(x)

    def scores(
        self, examiner: Examiner, x: Tensor, models: Tensor | None
    ) -> Tensor | None:
        """Every process tests the models of its agents."""
        return self._all(examiner.scores(x, examiner.agents))

    def score_of_average(
        self, examiner: Examiner, models: Tensor | None
    ) -> float | None:
        """On the test records of all; the mean over the agents where each has its own."""
        if examiner.common:
            return None if models is None else examiner.score(models.mean(dim=0))
        row = self._from_zero(None if models is None else models.mean(dim=0), examiner)
        here = row.expand(len(examiner.agents), -1)
        scores = self._all(examiner.scores(here, examiner.agents))
        return None if scores is None else float(scores.mean())

    def diagnostics(self, values: Mapping[str, Tensor]) -> Mapping[str, Tensor] | None:
        """Everything."""
        table = self._all(torch.stack(list(values.values()), dim=1))
        return None if table is None else dict(zip(values, table.T, strict=True))

    def broken(self, counts: Tensor) -> int | None:
        """Their sum."""
        whole = self._all(counts)
        return None if whole is None else int(whole.sum())

    def save(self, checkpoint: Checkpoint) -> None:
        """Process 0 writes one file for all."""
        state = {name: self._all(rows) for name, rows in checkpoint.state.items()}
        totals = self._all(checkpoint.totals)
        if self._states and totals is not None:
            whole = {name: rows for name, rows in state.items() if rows is not None}
            self._states.save(
                Checkpoint(checkpoint.round, checkpoint.seconds, whole, totals)
            )

    def _all(self, rows: Tensor) -> Tensor | None:
        return gathered(self._post, self._place, rows)

    def _from_zero(self, row: Tensor | None, examiner: Examiner) -> Tensor:
        """A row that process 0 has, known to all."""
        if row is None:
            return self._post.swap(COLLECT, {}, {0: 1}, examiner.like[None])[0][0]
        others = range(1, self._post.size)
        self._post.swap(COLLECT, dict.fromkeys(others, row[None]), {}, row[None])
        return row


@final
class PublicInstruments:
    """Sees models only: for records that are to be protected, in several processes."""

    def __init__(self, post: Post, place: Tensor, states: States | None) -> None:
        self._post, self._place, self._states = post, place, states
        self._control = Control(post)

    def models(self, x: Tensor) -> Tensor | None:
        """Collected: they are computed from what neighbours were sent."""
        return gathered(self._post, self._place, x)

    def scores(
        self, examiner: Examiner, x: Tensor, models: Tensor | None
    ) -> Tensor | None:
        """Process 0 tests all models."""
        if models is None:
            return None
        return examiner.scores(models, range(len(models)))

    def score_of_average(
        self, examiner: Examiner, models: Tensor | None
    ) -> float | None:
        """Process 0 tests it."""
        return None if models is None else examiner.score(models.mean(dim=0))

    def diagnostics(self, values: Mapping[str, Tensor]) -> Mapping[str, Tensor] | None:
        """Nothing is reported."""
        return {} if self._post.rank == 0 else None

    def broken(self, counts: Tensor) -> int | None:
        """Not reported."""
        return None

    def save(self, checkpoint: Checkpoint) -> None:
        """Every process writes a file of its own, process 0 when all others have."""
        if self._states is None:
            return
        if self._post.rank:
            self._states.save_part(self._post.rank, checkpoint)
        self._control.gather(checkpoint.round)
        if self._post.rank == 0:
            self._states.save_part(0, checkpoint)
