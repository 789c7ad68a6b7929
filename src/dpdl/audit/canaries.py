"""Records that are made for the audit: those to be found, and those around them.

The model is linear, loss = <w, x>, so that a record's gradient is the record itself, whatever the
model has become. All records are 1000 C long: clipping, and nothing else, shortens each to C, the
longest gradient a record can have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from dpdl.keys import generator
from dpdl.types import Batch, Parameters

LENGTH = 1000.0
"""Length of a record in units of C; without clipping of every record more than C would pass."""

CROWDS = {"none": 0.0, "against": -1.0, "along": 1.0}
"""The direction of an agent's other records, seen from the one in question."""

COMPANY = 8
"""Records of every agent that is not attacked, at most."""
PUBLIC = 16
"""Public records, for the algorithm that needs some."""


@final
@dataclass(frozen=True)
class LinearModel:
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


def canaries(numbers: Tensor, size: int, clip_norm: float) -> Tensor:
    """Canary k is 1000 C e_k, one row for every number k."""
    x = torch.zeros(len(numbers), size)
    x[torch.arange(len(numbers)), numbers] = LENGTH * clip_norm
    return x


def crowd(where: str, count: int, size: int, clip_norm: float) -> Tensor:
    """Equal records in the direction of canary 0: against it, along it, or of length zero."""
    one = canaries(torch.tensor([0]), size, clip_norm)
    return (CROWDS[where] * one).expand(count, size)


def company(agent: int, count: int, size: int, clip_norm: float) -> Tensor:
    """The records of an agent that is not attacked: equal, with entries of random, public sign."""
    entries = signs(agent, size) * (LENGTH * clip_norm / math.sqrt(size))
    return entries.expand(count, size)


def push(agent: int, count: int, size: int) -> Tensor:
    """How far they move their agent's gradient if all take part, in units of C / B."""
    return signs(agent, size) * (count / math.sqrt(size))


def signs(agent: int, size: int) -> Tensor:
    """+1 or -1 for every entry."""
    coins = generator(agent, "company").integers(2, size=size)
    return torch.from_numpy(2.0 * coins - 1).float()


def batch(x: Tensor) -> Batch:
    """Records as a minibatch; a linear model needs neither labels nor keys."""
    zeros = torch.zeros(len(x), dtype=torch.long)
    return Batch(x, zeros, zeros.clone())


def public_accuracy(row: Tensor) -> float:
    """The accuracy of a row on public records that only the first model gets right.

    No gradient helps then, and an algorithm that weighs gradients by what they add weighs all
    alike: weights that a listener knows hide least.
    """
    return float((row[:PUBLIC] == 0).double().mean())


def real_records(drawn: np.ndarray, count: int) -> Tensor:
    """Of the drawn places, those of the first `count` records; no other has a gradient."""
    return torch.from_numpy(drawn[drawn < count])
