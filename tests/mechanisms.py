"""Mechanisms for tests that are about something else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from dpdl.privacy.clip import Clip
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Randomness
from dpdl.privacy.sampling import Poisson
from dpdl.types import Model

MANY = 64
"""Agents that a mechanism is made for; a test may have fewer."""


def mechanism(
    clip: Clip, sigma: float, batch_size: int, records: int = 1000
) -> Mechanism:
    """Poisson batches from agents that all declare the same number of records."""
    return Mechanism(clip, Poisson(batch_size, (records,) * MANY), sigma)


def private_gradient(
    model: Model,
    clip: Clip,
    sigma: float,
    batch_size: int,
    randomness: Randomness,
    factors: np.ndarray | None = None,
    validate: Callable[[Tensor], float] | None = None,
) -> PrivateGradient:
    """What agents answer with, from the parts of a mechanism."""
    made = mechanism(clip, sigma, batch_size)
    return PrivateGradient(model, made, randomness, factors, validate)
