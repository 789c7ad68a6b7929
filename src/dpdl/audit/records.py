"""Records that are made for the audit: those to be found, and those around them.

The model is linear, loss = <w, x>, so that a record's gradient is the record itself, whatever the model has become. All
records are 1000 C long: clipping shortens each to C, the longest gradient a record can have, and only clipping does.
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
"""Length of a record in units of C. A rule that clips less than every record for itself lets some of it through."""

CROWDS = {"none": 0.0, "against": -1.0, "along": 1.0}
"""Where the other records of an agent pull, seen from the one in question."""

COMPANY = 8
"""Records of every agent that is not attacked, if it has so many."""
PUBLIC = 16
"""Public records of the algorithm that wants some."""


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


def canaries(numbers: Tensor, size: int, clip_norm: float) -> Tensor:
    """Canary k is 1000 C e_k, one row for every number k."""
    x = torch.zeros(len(numbers), size)
    x[torch.arange(len(numbers)), numbers] = LENGTH * clip_norm
    return x


def crowd(where: str, count: int, size: int, clip_norm: float) -> Tensor:
    """So many equal records in the direction of canary 0: against it, along it, or of length zero."""
    return (CROWDS[where] * canaries(torch.tensor([0]), size, clip_norm)).expand(
        count, size
    )


def company(agent: int, count: int, size: int, clip_norm: float) -> Tensor:
    """The records of an agent that is not attacked: equal ones, dense, with entries of random but public sign."""
    entries = signs(agent, size) * (LENGTH * clip_norm / math.sqrt(size))
    return entries.expand(count, size)


def push(agent: int, count: int, size: int) -> Tensor:
    """How far they move their agent's gradient if all take part, in units of C / B."""
    return signs(agent, size) * (count / math.sqrt(size))


def signs(agent: int, size: int) -> Tensor:
    """+1 or -1 for every entry."""
    return torch.from_numpy(
        2.0 * generator(agent, "company").integers(2, size=size) - 1
    ).float()


def batch(x: Tensor) -> Batch:
    """Records as a minibatch; a linear model needs neither labels nor keys."""
    return Batch(
        x, torch.zeros(len(x), dtype=torch.long), torch.zeros(len(x), dtype=torch.long)
    )


def public_accuracy(row: Tensor) -> float:
    """The accuracy of a row on public records that only the first model gets right.

    Nobody's gradient helps then, and whoever weighs gradients by what they add weighs all alike: weights that a
    listener knows hide least.
    """
    return float((row[:PUBLIC] == 0).double().mean())


def places(drawn: np.ndarray, taken: int) -> Tensor:
    """Record numbers out of a draw from more places than there are records with a gradient."""
    return torch.from_numpy(drawn[drawn < taken])
