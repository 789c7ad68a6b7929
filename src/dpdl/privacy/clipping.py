"""Bounded gradients of one model on one batch: the plain path, for any module.

All units return a *mean* gradient over the public, expected batch size B, never the realised one (which is private).
A gradient that is not finite counts as zero and is counted: it must not leave, and it must not break the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, final

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from dpdl.types import Batch, Model, Parameters

# Entries of per-sample gradients held at once by one core. Measured on LeNet (D = 44,426) with two cores: chunks of
# 64 to 108 samples are fastest; smaller ones pay per operation, larger ones for fresh memory.
ENTRIES = 4_000_000
MOST_SAMPLES = 128


class Clipped(NamedTuple):
    """The mean clipped gradient of a batch, and what happened on the way (diagnostics, never sent)."""

    gradient: Tensor  # (D,)
    loss: float  # sum of the samples' losses
    samples: int  # realised batch size
    clipped: int  # pieces whose gradient was shortened
    pieces: int  # what was clipped: samples or chunks
    broken: int  # pieces whose gradient was not finite

    def __repr__(self) -> str:
        return f"Clipped(private gradient of {len(self.gradient):,} entries)"


class Clip(Protocol):
    """How the gradient of a batch is bounded."""

    @property
    def clip_norm(self) -> float:
        """C, the largest norm of one piece; noise is measured in it."""
        ...

    @property
    def sensitivity(self) -> float | None:
        """How far one more record can move the result in Euclidean norm; None when nothing bounds it."""
        ...

    def __call__(self, model: Model, row: Tensor, batch: Batch) -> Clipped:
        """The bounded gradient of `row` on `batch`."""
        ...


@final
@dataclass(frozen=True)
class PerSample:
    """(1/B) sum_b g_b min(1, C / ||g_b||): one record moves it by at most C / B."""

    clip_norm: float
    batch_size: int

    @property
    def sensitivity(self) -> float:
        """C / B, when one record is added or removed."""
        return self.clip_norm / self.batch_size

    def __call__(self, model: Model, row: Tensor, batch: Batch) -> Clipped:
        """Per-sample gradients, chunk by chunk, so that memory is bounded."""
        if model.fused:
            total, loss, clipped, broken = model.fused.clipped(row, batch, self.clip_norm)
            return Clipped(total.div_(self.batch_size), loss, len(batch.y), clipped, len(batch.y), broken)
        parameters, total = model.parameters(row), torch.zeros_like(row)
        gradients = vmap(grad_and_value(model.loss), (None, 0, 0, 0))
        loss, clipped, broken = 0.0, 0, 0
        for part in _chunks(batch, min(MOST_SAMPLES, max(1, ENTRIES // len(row)))):
            g, losses = gradients(parameters, *part)
            norm = _norms(g)
            finite = norm.isfinite()
            scale = torch.where(finite, (self.clip_norm / norm).clamp(max=1), torch.zeros_like(norm))
            if not finite.all():
                g = {name: torch.where(_over(finite, t), t, torch.zeros_like(t)) for name, t in g.items()}
            total += _weighted_sum(g, scale)
            loss += float(losses.nansum())
            clipped += int((scale < 1).sum() - (~finite).sum())
            broken += int((~finite).sum())
        return Clipped(total.div_(self.batch_size), loss, len(batch.y), clipped, len(batch.y), broken)


@final
@dataclass(frozen=True)
class PerChunk:
    """The batch in `chunks` parts; the mean gradient of each is clipped to C, and their average taken.

    This is what the authors' public code does; one chunk is the clipping of batch means. It bounds no record by
    C / B: a single record can turn a whole chunk, and adding one moves the borders of all of them.
    """

    clip_norm: float
    chunks: int

    @property
    def sensitivity(self) -> float:
        """2 C: every chunk may change, each by twice its bound."""
        return 2 * self.clip_norm

    def __call__(self, model: Model, row: Tensor, batch: Batch) -> Clipped:
        """Ordinary gradients, one per chunk; a batch smaller than the number of chunks has empty ones (zero)."""
        total = torch.zeros_like(row)
        loss, clipped, broken = 0.0, 0, 0
        for part in _parts(batch, self.chunks):
            g, part_loss = _mean_gradient(model, row, part)
            norm = float(torch.linalg.vector_norm(g))
            loss += float(part_loss.nan_to_num()) * len(part.y)
            if norm == norm and norm != float("inf"):
                total.add_(g, alpha=min(1.0, self.clip_norm / norm if norm else 1.0))
                clipped += norm > self.clip_norm
            else:
                broken += 1
        return Clipped(total.div_(self.chunks), loss, len(batch.y), clipped, self.chunks, broken)


@final
@dataclass(frozen=True)
class Unclipped:
    """(1/B) sum_b g_b: nothing bounds what one record can do. `clip_norm` is only the unit of the noise."""

    batch_size: int
    clip_norm: float = 1.0

    @property
    def sensitivity(self) -> None:
        """Unbounded."""
        return

    def __call__(self, model: Model, row: Tensor, batch: Batch) -> Clipped:
        """One ordinary gradient of the whole batch."""
        if not len(batch.y):
            return Clipped(torch.zeros_like(row), 0.0, 0, 0, 1, 0)
        g, loss = _mean_gradient(model, row, batch)
        broken = not bool(g.isfinite().all())
        g = torch.zeros_like(g) if broken else g.mul_(len(batch.y) / self.batch_size)
        return Clipped(g, float(loss.nan_to_num()) * len(batch.y), len(batch.y), 0, 1, int(broken))


def _chunks(batch: Batch, size: int) -> Iterator[Batch]:
    for start in range(0, len(batch.y), size):
        yield Batch(*(part[start : start + size] for part in batch))


def _parts(batch: Batch, count: int) -> Iterator[Batch]:
    for parts in zip(*(part.tensor_split(count) for part in batch), strict=True):
        if len(parts[0]):
            yield Batch(*parts)


def _mean_gradient(model: Model, row: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    if model.fused:
        total = model.fused.total(row, batch)
        return total.gradient.div_(len(batch.y)), row.new_tensor(total.loss / len(batch.y))

    parameters = model.parameters(row)

    def mean_loss(parameters: Parameters) -> Tensor:
        return vmap(model.loss, (None, 0, 0, 0))(parameters, *batch).mean()

    g, loss = grad_and_value(mean_loss)(parameters)
    return torch.cat([t.flatten() for t in g.values()]), loss


def _norms(g: Parameters) -> Tensor:
    """Norm of every sample's gradient over all parameter tensors."""
    parts = [torch.linalg.vector_norm(t.flatten(1), dim=1) for t in g.values()]
    norms: Tensor = torch.linalg.vector_norm(torch.stack(parts), dim=0)
    return norms


def _weighted_sum(g: Parameters, scale: Tensor) -> Tensor:
    return torch.cat([scale @ t.flatten(1) for t in g.values()])


def _over(mask: Tensor, t: Tensor) -> Tensor:
    return mask.view(-1, *[1] * (t.dim() - 1))
