"""The game: is a record in agent i's data or not, judged by what leaves over T rounds.

The game uses the code that trains: `Net` and its exit, the private gradient, the sampling, the
algorithm's `round`. Only the model and the records are special (see `dpdl.audit.canaries`). There
are two ways to play.

`play`: many games at once. Canary k lives in coordinate k, which has its own noise; each canary is
in or out on its own and takes its own coin in every round. All other places of agent i hold records
without a gradient.

`play_one`: one game. One record, and a crowd of others that pull along it or against it; without
the record there is really one record less, and whoever counts the records to set a rate gets
another number.

The other agents have records too (`company`), which the adversary knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dpdl.algorithms import Algorithm
from dpdl.audit.canaries import (
    COMPANY,
    LinearModel,
    batch,
    canaries,
    company,
    crowd,
    push,
    real_records,
)
from dpdl.audit.ears import Ears, Heard, Tap
from dpdl.audit.randomness import OwnNoise, at_home
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Randomness

Present = npt.NDArray[np.bool_]
NOBODY: Present = np.zeros(0, np.bool_)
"""No canary at all."""
Taking = Callable[[int], Tensor]
"""From a round to the records of agent i that take part in it, (b, d)."""


class Drawing(Protocol):
    """Draws record numbers of one agent."""

    def draw(
        self, records: int, randomness: Randomness, round: int, agent: int
    ) -> np.ndarray:
        """Ascending numbers out of `range(records)`."""
        ...


@final
@dataclass(frozen=True)
class Game:
    """One set-up; every call of `play` and `play_one` is a run of it."""

    algorithm: Algorithm
    graph: Graph
    grad: PrivateGradient  # of a `LinearModel`
    drawing: Drawing  # how batches are drawn: honestly, by the mechanism of `grad`
    records: Sequence[int]  # D_j of every agent
    rounds: int  # T
    agent: int  # i, who may have the record
    company: int = COMPANY  # records of every other agent, if it has so many

    def __post_init__(self) -> None:
        most = self.records[self.agent]
        if (
            self.grad.mechanism.sampling.fraction is None
            and self.grad.batch_size > most
        ):
            raise InputError(
                f"batch must be from 1 to the {most} records, not "
                f"{self.grad.batch_size}."
            )

    @property
    def size(self) -> int:
        """The number d of coordinates."""
        return sum(self.grad.model.sizes)

    @property
    def rate(self) -> float:
        """q, the probability that a record takes part in a round."""
        return self.grad.mechanism.sampling.rate(self.agent)

    @property
    def known(self) -> Tensor:
        """How the known records of the others move their agents' gradients: (N - 1, d)."""
        others = [
            push(j, min(n, self.company), self.size)
            for j, n in enumerate(self.records)
            if j != self.agent
        ]
        return torch.stack(others) if others else torch.zeros(0, self.size)

    def shows(self, t: int) -> bool:
        """Whether agent i releases anything in round t, which is public."""
        return self.algorithm.disclosure.active(self.graph, self.agent, t)

    def with_noise(self, randomness: Randomness) -> Game:
        """The same code with other batches and other noise."""
        return replace(self, grad=replace(self.grad, randomness=randomness))

    def rehearsal(self, name: str, size: int) -> Game:
        """What an adversary can do at home: the same code, other randomness, any size."""
        home = self.with_noise(at_home(self.grad.randomness, name))
        return replace(home, grad=replace(home.grad, model=LinearModel(size)))

    # ------------------------------------------------------------------ what agent i has
    def play(self, present: Present, ears: Ears) -> Iterator[Heard]:
        """What is heard in each round, with the canaries that are present.

        Each canary has one place in the agent's data.
        """
        if len(present) > min(self.size, self.records[self.agent]):
            raise InputError(
                f"canaries must be at most the {self.records[self.agent]} records of the "
                f"agent, not {len(present)}. For more trials raise records and batch "
                "together: the rate stays what it is."
            )

        def taking(t: int) -> Tensor:
            every = self._drawn(self.records[self.agent], t, self.agent)
            drawn = real_records(every, len(present))
            return self._canaries(drawn[torch.from_numpy(present)[drawn]])

        return self.play_with(taking, ears)

    def play_one(self, inside: bool, around: str, ears: Ears) -> Iterator[Heard]:
        """What is heard with a crowd of D_i - 1 records, and canary 0 if `inside`."""
        others = crowd(
            around, self.records[self.agent] - 1, self.size, self.grad.clip.clip_norm
        )
        record = self._canaries(torch.tensor([0]))

        def taking(t: int) -> Tensor:
            drawn = self._drawn(len(others) + inside, t, self.agent)
            crowded = len(real_records(drawn, len(others)))
            return torch.cat([others[:crowded], record[: len(drawn) - crowded]])

        return self.play_with(taking, ears)

    def play_with(self, taking: Taking, ears: Ears) -> Iterator[Heard]:
        """What is heard when agent i has these records in its batches."""
        tap, grad = Tap(ears), self.grad
        known = OwnNoise(grad.randomness, ears.coalition)
        if ears.coalition and ears.own_noise:
            grad = replace(grad, randomness=known)
        net = Net(self.graph, observers=[tap])
        state = self.algorithm.init(torch.zeros(len(self.graph), self.size))
        others = [
            company(j, min(n, self.company), self.size, grad.clip.clip_norm)
            for j, n in enumerate(self.records)
        ]
        for t in range(1, self.rounds + 1):
            batches = []
            for j, (n, data) in enumerate(zip(self.records, others, strict=True)):
                if j == self.agent:
                    batches.append(batch(taking(t)))
                else:
                    drawn = real_records(self._drawn(n, t, j), len(data))
                    batches.append(batch(data[drawn]))
            state, _ = self.algorithm.round(state, batches, net, grad, t)
            yield {**tap.take(), **known.take(), **ears.sees(state["x"])}

    def _drawn(self, records: int, t: int, agent: int) -> np.ndarray:
        return self.drawing.draw(records, self.grad.randomness, t, agent)

    def _canaries(self, numbers: Tensor) -> Tensor:
        return canaries(numbers, self.size, self.grad.clip.clip_norm)
