"""Sample, clip, sum, add noise: all that an agent does to its records, and what that costs.

Batch size, clipping, sampling and noise live here together, so that what is done and what is
accounted for cannot disagree: the deviation of the noise is derived, never stored, and nothing
else makes an accountant's `Step`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from dpdl.errors import InputError
from dpdl.privacy.accounting import Effect, Step
from dpdl.privacy.clip import Clip, Clipped, PerChunk, PerSample, Unclipped
from dpdl.privacy.declared import largest_batch
from dpdl.privacy.sampling import FixedSize, Poisson, Sampling

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from dpdl.privacy.noise import Randomness
    from dpdl.types import Batch, Model


@final
@dataclass(frozen=True)
class Mechanism:
    """The Gaussian mechanism on sampled, clipped gradients.

        answer = mean clipped gradient + N(0, std^2 I),   std = sigma C / B

    Where every record is clipped on its own, one record moves an answer by at most C / B, and
    sigma is the noise multiplier of one answer. Otherwise a step costs infinity.
    """

    clip: Clip
    sampling: Sampling
    noise_multiplier: float  # sigma; 0: no noise, and no guarantee

    def __post_init__(self) -> None:
        if not isinstance(self.clip, PerSample | PerChunk | Unclipped):
            raise InputError(f"Nothing is known about the clipping {self.clip!r}.")
        if not isinstance(self.sampling, Poisson | FixedSize):
            raise InputError(f"Nothing is known about the sampling {self.sampling!r}.")
        sigma = self.noise_multiplier
        if not (math.isfinite(sigma) and sigma >= 0):
            raise InputError(
                f"sigma must be a finite number of at least 0, not {sigma}."
            )

    # ------------------------------------------------------------------ what is done
    @property
    def batch_size(self) -> int:
        """B, expected and public."""
        return self.sampling.batch_size

    @property
    def std(self) -> float:
        """The deviation of the noise on every entry of an answer."""
        return self.noise_multiplier * self.clip.clip_norm / self.batch_size

    @property
    def sensitivity(self) -> float | None:
        """How far one more record can move an answer; None when nothing bounds it."""
        return self.clip.sensitivity(self.batch_size)

    def draw(
        self, records: int, randomness: Randomness, round: int, agent: int
    ) -> np.ndarray:
        """The numbers of the records, out of `range(records)`, that an agent uses in a round."""
        return self.sampling.draw(records, randomness, round, agent)

    def gradient(self, model: Model, row: Tensor, batch: Batch) -> Clipped:
        """The bounded gradient of a row on a batch, without noise."""
        return self.clip.gradient(model, row, batch, self.batch_size)

    def with_noise(self, noise_multiplier: float) -> Mechanism:
        """The same with another sigma."""
        return replace(self, noise_multiplier=noise_multiplier)

    def with_batch(self, batch_size: int) -> Mechanism:
        """The same with another B."""
        return replace(self, sampling=replace(self.sampling, batch_size=batch_size))

    # ------------------------------------------------------------------ what it costs
    @property
    def bounds_record(self) -> bool:
        """Whether the noise is made for what a single record can do."""
        return self.clip.bounds_record

    @property
    def declared(self) -> tuple[int, ...]:
        """How many records every agent says it has."""
        return self.sampling.declared

    def step(self, agent: int, effect: Effect, adaptive: bool = False) -> Step:
        """One round of an agent as the accountant sees it.

        `effect` is the single Gaussian release that all its answers amount to. `adaptive` says that
        later answers of the round depend on earlier ones.
        """
        records = self.declared[agent]
        if self.sampling.fixed:
            records = max(records, self.batch_size)
        if not self.bounds_record or self.noise_multiplier == 0:
            effect = Effect(0.0)
        return Step(
            effect.sigma,
            self.batch_size,
            records,
            self.sampling.fixed,
            effect.lost,
            adaptive,
            self.sampling.fraction,
        )

    def largest_batch(self, failure: float) -> int:
        """No batch of any agent is larger, but with probability `failure` for each."""
        if self.sampling.fixed:
            return self.batch_size
        return max(
            largest_batch(self.sampling.rate(agent), count, failure)
            for agent, count in enumerate(self.declared)
        )
