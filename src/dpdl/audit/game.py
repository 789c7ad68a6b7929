"""The game: is a record in agent i's data or not, judged by what leaves over T rounds.

The model is linear, loss = <w, x>, so that a record's gradient is the record itself, whatever the model is. Canary k
is x = 1000 C e_k: clipping shortens it to C e_k, the longest gradient a record can have, and only clipping does. Each
canary is in or out on its own, takes its own coin in every round, and lives in its own coordinate, which has its own
noise. So the canaries of one run are as many games at once. Everything else is the code that trains: `Net` and its
exit, the private gradient, Poisson sampling, the algorithm's `round`.

Only agent i has records. Empty batches of the others are the worst case: there is nothing but noise to hide behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dpdl.algorithms import Algorithm
from dpdl.audit.view import Ears, Heard, Tap
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.sampling import Poisson
from dpdl.types import Batch, Parameters

LENGTH = 1000.0
"""Length of a canary in units of C. A rule that clips less than every record for itself lets some of it through."""

Present = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True)
class Linear:
    """loss = <w, x>: the gradient of a record is the record."""

    size: int
    fused = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """One parameter tensor."""
        return (self.size,)

    def parameters(self, row: Tensor) -> Parameters:
        """The row itself."""
        return {"w": row}

    def loss(self, parameters: Parameters, x: Tensor, y: Tensor, key: Tensor) -> Tensor:
        """<w, x>."""
        return (parameters["w"] * x).sum()


@final
@dataclass(frozen=True)
class Game:
    """One set-up; every call of `play` is a run of it."""

    algorithm: Algorithm
    graph: Graph
    grad: PrivateGradient  # of a `Linear` model: its size is the number of canaries
    records: int  # D_i: sets the rate q = B / D_i
    rounds: int  # T
    agent: int  # i, who may have the record

    def __post_init__(self) -> None:
        if not 1 <= self.grad.batch_size <= self.records:
            raise InputError(f"batch must be from 1 to the {self.records} records, not {self.grad.batch_size}.")
        if not 1 <= self.canaries <= self.records:
            raise InputError(
                f"canaries must be from 1 to the {self.records} records of the agent, not {self.canaries}. For more "
                "trials raise records and batch together: the rate stays what it is."
            )

    @property
    def canaries(self) -> int:
        """How many there are; each is one coordinate."""
        return sum(self.grad.model.sizes)

    @property
    def rate(self) -> float:
        """q, the probability that a record takes part in a round."""
        return self.grad.batch_size / self.records

    def play(self, present: Present, ears: Ears) -> Iterator[Heard]:
        """What is heard in each of the T rounds, with the canaries that are present."""
        return self._run(present, ears, range(1, self.rounds + 1))

    def rehearse(self, ears: Ears, rounds: int) -> Iterator[Heard]:
        """The same without any record, with noise of rounds that are not played: what an adversary can do at home."""
        nobody = np.zeros(self.canaries, np.bool_)
        return self._run(nobody, ears, range(self.rounds + 1, self.rounds + rounds + 1))

    def _run(self, present: Present, ears: Ears, rounds: range) -> Iterator[Heard]:
        tap = Tap(ears)
        net = Net(self.graph, observers=[tap])
        state = self.algorithm.init(torch.zeros(len(self.graph), self.canaries))
        empty = self._batch(np.zeros(0, np.int64))
        for t in rounds:
            batches = [empty] * len(self.graph)
            batches[self.agent] = self._batch(self._drawn(present, t))
            state, _ = self.algorithm.round(state, batches, net, self.grad, t)
            yield tap.take()

    def _drawn(self, present: Present, t: int) -> npt.NDArray[np.int64]:
        """The canaries of round t: one coin per place, and the places that are taken."""
        places = Poisson(self.grad.batch_size, (self.records,) * len(self.graph))(
            self.records, self.grad.randomness, t, self.agent
        )
        places = places[places < len(present)]
        return np.asarray(places[present[places]], np.int64)

    def _batch(self, canaries: npt.NDArray[np.int64]) -> Batch:
        k = torch.from_numpy(canaries)
        x = torch.zeros(len(k), self.canaries)
        x[torch.arange(len(k)), k] = LENGTH * self.grad.clip.clip_norm
        return Batch(x, torch.zeros(len(k), dtype=torch.long), k)
