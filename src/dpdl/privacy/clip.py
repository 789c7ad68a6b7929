"""How the gradient of a batch is bounded, and what that bounds.

Three ways, and no others: `Mechanism` accounts for these. Each returns a *mean* gradient over the
public batch size B that it is given, never over the realised size, which is private. The
arithmetic is in `dpdl.privacy.clipping`, which needs torch; nothing here does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

from dpdl.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.types import Batch, Model


class Clipped(NamedTuple):
    """The mean clipped gradient of a batch, and diagnostics, which are never sent."""

    gradient: Tensor  # (D,)
    loss: float  # sum of the samples' losses
    samples: int  # realised batch size
    clipped: int  # pieces whose gradient was shortened
    pieces: int  # what was clipped: samples or chunks
    broken: int  # pieces whose gradient was not finite
    length: float = math.nan  # of the gradient, where somebody measured it

    def __repr__(self) -> str:
        return f"Clipped(private gradient of {len(self.gradient):,} entries)"


@final
@dataclass(frozen=True)
class PerSample:
    """(1/B) sum_b g_b min(1, C / ||g_b||): one record more moves it by at most C / B."""

    clip_norm: float  # C
    bounds_record = True

    def __post_init__(self) -> None:
        _check_norm(self.clip_norm)

    def sensitivity(self, batch_size: int) -> float:
        """How far one more record can move the mean, in Euclidean norm: C / B."""
        return self.clip_norm / batch_size

    def gradient(
        self, model: Model, row: Tensor, batch: Batch, batch_size: int
    ) -> Clipped:
        """The bounded gradient of `row` on `batch`."""
        from dpdl.privacy.clipping import per_sample

        return per_sample(model, row, batch, self.clip_norm, batch_size)


@final
@dataclass(frozen=True)
class PerChunk:
    """The batch in `chunks` parts; the mean gradient of each is clipped to C, then averaged.

    This is what the authors' public code does; one chunk is the clipping of batch means. It does
    not bound a record by C / B, for which the noise is made: a single record can turn a whole
    chunk, and adding one moves the borders of all of them.
    """

    clip_norm: float  # C
    chunks: int
    bounds_record = False

    def __post_init__(self) -> None:
        _check_norm(self.clip_norm)
        if self.chunks < 1:
            raise InputError(f"chunks must be at least 1, not {self.chunks}.")

    def sensitivity(self, batch_size: int) -> float:
        """2 C: every chunk may change, each by twice its bound."""
        return 2 * self.clip_norm

    def gradient(
        self, model: Model, row: Tensor, batch: Batch, batch_size: int
    ) -> Clipped:
        """The bounded gradient of `row` on `batch`."""
        from dpdl.privacy.clipping import per_chunk

        return per_chunk(model, row, batch, self.clip_norm, self.chunks)


@final
@dataclass(frozen=True)
class Unclipped:
    """(1/B) sum_b g_b: nothing bounds a record. `clip_norm` is only the unit of the noise."""

    clip_norm: float = 1.0
    bounds_record = False

    def __post_init__(self) -> None:
        _check_norm(self.clip_norm)

    def sensitivity(self, batch_size: int) -> None:
        """Unbounded."""
        return

    def gradient(
        self, model: Model, row: Tensor, batch: Batch, batch_size: int
    ) -> Clipped:
        """The ordinary gradient of `row` on `batch`."""
        from dpdl.privacy.clipping import unclipped

        return unclipped(model, row, batch, batch_size)


Clip = PerSample | PerChunk | Unclipped


def _check_norm(clip_norm: float) -> None:
    if not (math.isfinite(clip_norm) and clip_norm > 0):
        raise InputError(f"clip must be a finite number above 0, not {clip_norm}.")
