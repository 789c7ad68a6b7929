"""CGA by plain loops; its quadratic problem is solved by trying every set of multipliers that lie at the margin."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tests.reference.ngm import Neighbourhood, Pairs


def direction(M: np.ndarray, g: np.ndarray, margin: float) -> np.ndarray:
    """The shortest g + M' v with v >= margin, without any ridge.

    Some optimal v has linearly independent rows where it is above the margin, so one of the sets is right; the others
    give feasible points, which are not shorter.
    """
    best = g + M.T @ np.full(len(M), margin)
    rows = [j for j in range(len(M)) if M[j].any()]
    for count in range(1, len(rows) + 1):
        for free in map(list, itertools.combinations(rows, count)):
            rest = g + M.T @ np.array(
                [0.0 if j in free else margin for j in range(len(M))]
            )
            lengths = np.linalg.norm(M[free], axis=1)
            y = np.linalg.lstsq((M[free] / lengths[:, None]).T, -rest, rcond=None)[0]
            if (y >= margin * lengths).all():
                found = rest + (M[free] / lengths[:, None]).T @ y
                if np.linalg.norm(found) < np.linalg.norm(best):
                    best = found
    return best


def ridged(
    M: np.ndarray, g: np.ndarray, margin: float, ridge: float = 1e-12
) -> np.ndarray:
    """The same with a ridge: every row has an entry of its own beside the others, as long as the root of the ridge."""
    own = np.sqrt(ridge) * np.diag(np.linalg.norm(M, axis=1))
    return direction(
        np.hstack([M, own]), np.concatenate([g, np.zeros(len(M))]), margin
    )[: len(g)]


@dataclass
class Aggregation(Neighbourhood):
    """CGA: agent i combines what it received so that nothing conflicts."""

    margin: float = 0.0
    sizes: tuple[int, ...] | None = (
        None  # one problem for every piece; None: one for the whole vector
    )

    def combine(self, i: int, made: Pairs, received: Pairs) -> Tensor:
        others = [j for j in self.around(i) if j != i]
        pieces, start = [], 0
        for size in self.sizes or (len(self.x[i]),):
            cut = slice(start, start + size)
            rows = [float(self.W[i, j]) * received[i, j][cut].numpy() for j in others]
            own = float(self.W[i, i]) * received[i, i][cut].numpy()
            pieces.append(
                ridged(np.array(rows).reshape(len(rows), size), own, self.margin)
            )
            start += size
        return torch.from_numpy(np.concatenate(pieces))
