"""Noise of all pairs at once, for simulations, in which nobody keeps a secret.

    what agent i adds for its N - 1 pairs:   sum_j +-z^{ij},   z^{ij} ~ N(0, std^2 I)
    here:                                    sqrt(N) (xi^i - mean xi),   xi^i ~ N(0, std^2 I)

Both are Gaussian with mean 0, independent from entry to entry, and have between agents the
covariance std^2 (N I - 11'), the Laplacian of the complete graph. So they are the same noise, from
N vectors in place of N (N - 1) / 2. Where an agent must know the noise of a pair, it is drawn pair
by pair: `PrivateGradient.paired`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dpdl.parallel import each
from dpdl.privacy.noise import Randomness
from dpdl.rows import grouped, weighted_sums

POOLED = "secrets"
"""The purpose of its streams."""


def summing_to_zero(
    randomness: Randomness, rows: Tensor, agents: Tensor, count: int, std: float, t: int
) -> Tensor:
    """The rows of some of `count` agents with the noise of all their pairs, each of deviation std.

    Every process draws the vectors of all agents, so their mean has the same bits everywhere.
    """
    if not std or count < 2:
        return rows
    nothing = rows.new_zeros(rows.shape[1])
    drawn = rows.new_empty(count, rows.shape[1])

    def draw(k: int) -> None:
        scale = std * math.sqrt(count)
        randomness.perturb(nothing, scale, POOLED, t, k, into=drawn[k])

    each(draw, range(count))
    everybody = torch.arange(count)
    equal = torch.full((count,), 1 / count, dtype=torch.float64)
    mean = weighted_sums(drawn, everybody, equal, grouped(0 * everybody, 1))[0]

    def add(at: int, k: int) -> None:  # a row stays in the cache for both
        drawn[k].sub_(mean).add_(rows[at])

    each(lambda pair: add(*pair), enumerate(agents.tolist()))
    return drawn if agents.equal(everybody) else drawn[agents]
