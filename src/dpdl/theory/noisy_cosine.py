"""What noise leaves of the cosine that DPDL calibrates with, and what its answers cost.

A neighbour's answer and the reference are g + z and g' + z' with independent z, z' ~ N(0, tau^2 I)
in d dimensions, tau = sigma C / B. With the cosine c of g and g', and the signal to noise

    s = |g|^2 / (tau^2 d),   s' = |g'|^2 / (tau^2 d),

the scalar product has mean c |g| |g'| and variance tau^2 (|g|^2 + |g'|^2) + tau^4 d. In many
dimensions the lengths hardly vary: |g + z|^2 = |g|^2 + tau^2 d. So the cosine that is seen has

    mean      c / sqrt((1 + 1/s) (1 + 1/s'))
    variance  (1 + s + s') / (d (1 + s) (1 + s'))

to leading order in 1/d. The coefficient 1 / (1 + exp(cosine)) is 1/2 - cosine / 4, nearly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpdl.errors import InputError


class SeenCosine(NamedTuple):
    """The cosine of two noisy gradients: its mean and its standard deviation."""

    mean: float
    deviation: float

    @property
    def coefficient(self) -> float:
        """1 / (1 + exp(mean)): what DPDL makes of it, for a small deviation."""
        return 1 / (1 + math.exp(self.mean))


def signal_to_noise(square: float, tau: float, size: int) -> float:
    """|g|^2 / (tau^2 d): the length of a gradient beside that of its noise, squared."""
    if tau <= 0 or size < 1 or square < 0:
        raise InputError(
            "tau must be above 0, the size at least 1 and the square at least 0, not "
            f"{tau}, {size} and {square}."
        )
    return square / (tau**2 * size)


def seen_cosine(clean: float, s: float, other: float, size: int) -> SeenCosine:
    """What noise leaves of the cosine `clean`, at signals to noise `s` and `other`."""
    if not -1 <= clean <= 1 or s < 0 or other < 0 or size < 1:
        raise InputError(
            "a cosine must be from -1 to 1, a signal to noise at least 0 and the size at "
            f"least 1, not {clean}, {s}, {other} and {size}."
        )
    room = (1 + s) * (1 + other)
    mean = clean * math.sqrt(s * other / room)
    return SeenCosine(mean, math.sqrt((1 + s + other) / (size * room)))


def hiding_sigma(length: float, clip: float, batch: int, size: int) -> float:
    """The sigma at which s = 1 for a gradient of this length; above it, noise is longer.

    sigma = |g| B / (C sqrt(d)).
    """
    return length * batch / (clip * math.sqrt(size))


def price_in_variance(weights: Sequence[float]) -> float:
    """How much more noise the average model has at one epsilon, relative to its step.

    A batch that answers m models must give each answer m times the variance of a single one. Where
    the update weighs them c_1, ..., c_m, this is m sum c^2 / (sum c)^2 times what one answer has:
    at least 1, and 1 only for equal weights.
    """
    total = sum(weights)
    if total <= 0:
        raise InputError("the sum of the weights must be above 0.")
    return len(weights) * sum(c * c for c in weights) / total**2


def weights_of_answers(agents: int, m: int, alpha: float, cosine: float) -> list[float]:
    """What DPDL makes of the m answers of a batch, for equal w = 1/m and one cosine.

    1 / (sqrt(w) N) each, and alpha K more for its own, K = sum_j w C^{ij}.
    """
    each = math.sqrt(m) / agents
    k = (1 / (1 + math.e) + (m - 1) / (1 + math.exp(cosine))) / m
    return [each + alpha * k, *([each] * (m - 1))]
