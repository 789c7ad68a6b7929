"""What the worst coalition of k agents, wherever they are, knows about each of the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpdl.algorithms.disclosure import MOST_COALITIONS

Vector = npt.NDArray[np.float64]

WORK = 10**9
"""About how many numbers may be computed to try all coalitions."""


def against_all(
    agents: int, k: int, exposures: Callable[[npt.NDArray[np.intp]], Vector]
) -> Vector | None:
    """Of every agent, the largest that a coalition without it leaves; None: too many to try.

    `exposures` of the agents that are left gives one number for each of them.
    """
    count = math.comb(agents, k)
    if count > MOST_COALITIONS or count * agents**3 > WORK:
        return None
    worst = np.zeros(agents)
    for J in itertools.combinations(range(agents), k):
        left = np.setdiff1d(np.arange(agents), J)
        worst[left] = np.maximum(worst[left], exposures(left))
    return worst
