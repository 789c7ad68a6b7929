"""The sum of all records' features, each of length 1, from which their centre is released.

    c = (sum_i u_i + noise) / (number of declared records),    u = f / |f|

It is released once, before the first round, by the mechanism of a round in which every record takes
part: one record more moves the sum by at most 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import torch
from torch import Tensor

from dpdl.tasks.directions import of_length
from dpdl.types import Batch, ClippedSum, Parameters

PIECE = 500
"""Records whose features are held at once in long precision."""


@final
class UnitSum:
    """Stands in for a model: the 'gradient' of a record is its u, whatever the row.

    A batch names records in place of holding them: `x` has their numbers and `y` their agent, so
    that they are never all held at once.
    """

    def __init__(self, size: int, rows: Callable[[int, Tensor], Tensor]) -> None:
        """`rows` gives the features of some records of an agent."""
        self.sizes = (size,)
        self._rows = rows

    @property
    def fused(self) -> UnitSum:
        """Itself."""
        return self

    def clipped(self, row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        """The sum of u shortened to `clip_norm`; features that are not finite count as zero."""
        total = torch.zeros(self.sizes[0], dtype=torch.float64)
        broken = 0
        for numbers, agents in zip(
            batch.x.split(PIECE), batch.y.split(PIECE), strict=True
        ):
            if not len(numbers):
                continue  # an agent without records
            features = self._rows(int(agents[0]), numbers).double().flatten(1)
            finite = features.isfinite().all(dim=1)
            broken += int((~finite).sum())
            unit = of_length(features[finite], 1.0)
            total += unit.sum(dim=0) * min(1.0, clip_norm)
        return ClippedSum(total.to(row.dtype), 0.0, 0, broken)

    def total(self, row: Tensor, batch: Batch) -> ClippedSum:
        """The same: u is never longer than 1."""
        return self.clipped(row, batch, 1.0)

    def parameters(self, row: Tensor) -> Parameters:
        """One, which nothing depends on."""
        return {"centre": row}

    def loss(self, parameters: Parameters, x: Tensor, y: Tensor, key: Tensor) -> Tensor:
        """None: `fused` gives the sums."""
        raise NotImplementedError("a sum of features has no loss")
