"""The few shapes that all layers share.

Vocabulary: a *row* is a flat model (or gradient) of length D. A directed *edge* (i, j) means that
agent i owns the model and agent j owns the data that answers it; self-loops are edges. Seen from
one process, an edge is an *ask* when i is hosted here and a *visit* when j is hosted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from torch import Tensor

from dpdl.rows import entrywise

Parameters = Mapping[str, Tensor]


class Batch(NamedTuple):
    """The minibatch of one agent in one round. Its size is private; it may be empty."""

    x: Tensor  # (b, ...) normalised inputs
    y: Tensor  # (b,) targets
    key: Tensor  # (b,) int64, names the randomness (dropout) of every sample

    def __repr__(self) -> str:
        return f"Batch(private records of shape {tuple(self.x.shape[1:])})"


class Sent(NamedTuple):
    """Rows that agents sent to the agents hosted here, each kept once for all who read it."""

    rows: Tensor  # (senders, D)
    at: Tensor  # (visits,) visit k reads rows[at[k]]

    def __repr__(self) -> str:
        count, width = len(self.rows), self.rows.shape[1]
        return f"Sent({count} rows of {width:,} entries, read by {len(self.at)} visits)"

    def combine(self, other: Sent, formula: Callable[[Tensor, Tensor], Tensor]) -> Sent:
        """What receivers can compute themselves from two rows of each sender, entry by entry."""
        return Sent(entrywise(formula, self.rows, other.rows), self.at)


class Visits(NamedTuple):
    """The edges whose data owner is hosted here, in the canonical order."""

    edges: Tensor  # (visits, 2) agent numbers (i, j)
    host: Tensor  # (visits,) row of agent j among the agents hosted here


class ClippedSum(NamedTuple):
    """The sum of a batch's gradients, and what happened on the way."""

    gradient: Tensor  # (D,)
    loss: float  # sum of the samples' losses
    clipped: int  # samples whose gradient was shortened
    broken: int  # samples whose gradient was not finite

    def __repr__(self) -> str:
        return f"ClippedSum(private gradient of {len(self.gradient):,} entries)"


class Fused(Protocol):
    """A fast way to the same sums, up to rounding."""

    def clipped(self, row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        """The sum of the samples' gradients, each shortened to `clip_norm`.

        One that is not finite counts as zero.
        """
        ...

    def total(self, row: Tensor, batch: Batch) -> ClippedSum:
        """The sum of the samples' gradients."""
        ...


class Model(Protocol):
    """A model on flat rows, as far as private gradients need to know it."""

    @property
    def fused(self) -> Fused | None:
        """The fast path, if there is one."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of entries of every parameter tensor, in row order; their sum is D."""
        ...

    def parameters(self, row: Tensor) -> Parameters:
        """The named parameter tensors of a row (views, not copies)."""
        ...

    def loss(self, parameters: Parameters, x: Tensor, y: Tensor, key: Tensor) -> Tensor:
        """The loss of one sample, a scalar; usable under `torch.func`."""
        ...
