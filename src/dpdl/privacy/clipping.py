"""Bounded gradients of one model on one batch: the plain path, for any module.

A gradient that is not finite counts as zero and is counted: it must not leave, and it must not
break the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from dpdl.privacy.clip import Clipped
from dpdl.types import Batch, Model, Parameters

# Entries of per-sample gradients held at once by one core. Measured on LeNet (D = 44,426) with two
# cores: chunks of 64 to 108 samples are fastest; smaller ones pay per operation, larger ones for
# fresh memory.
ENTRIES = 4_000_000
MOST_SAMPLES = 128


def per_sample(
    model: Model,
    row: Tensor,
    batch: Batch,
    clip_norm: float,
    batch_size: int,
    most_samples: int = MOST_SAMPLES,
) -> Clipped:
    """Per-sample gradients, each shortened to C, chunk by chunk, so that memory is bounded."""
    if model.fused:
        total, loss, clipped, broken = model.fused.clipped(row, batch, clip_norm)
        samples = len(batch.y)
        mean = total.div_(batch_size)
        return Clipped(mean, loss, samples, clipped, samples, broken)
    parameters, total = model.parameters(row), torch.zeros_like(row)
    gradients = vmap(grad_and_value(model.loss), (None, 0, 0, 0))
    loss, clipped, broken = 0.0, 0, 0
    size = min(most_samples, max(1, ENTRIES // len(row)))
    for part in _chunks(batch, size):
        g, losses = gradients(parameters, *part)
        norm = _norms(g)
        finite = norm.isfinite()
        shortened = (clip_norm / norm).clamp(max=1)
        scale = torch.where(finite, shortened, torch.zeros_like(norm))
        if not finite.all():
            g = {
                name: torch.where(_over(finite, t), t, torch.zeros_like(t))
                for name, t in g.items()
            }
        total += _weighted_sum(g, scale)
        loss += float(losses.nansum())
        clipped += int((scale < 1).sum() - (~finite).sum())
        broken += int((~finite).sum())
    samples = len(batch.y)
    return Clipped(total.div_(batch_size), loss, samples, clipped, samples, broken)


def per_chunk(
    model: Model, row: Tensor, batch: Batch, clip_norm: float, chunks: int
) -> Clipped:
    """Ordinary gradients, one per chunk; a small batch has empty chunks, which count as zero."""
    total = torch.zeros_like(row)
    loss, clipped, broken = 0.0, 0, 0
    for part in _parts(batch, chunks):
        g, part_loss = _mean_gradient(model, row, part)
        norm = float(torch.linalg.vector_norm(g))
        loss += float(part_loss.nan_to_num()) * len(part.y)
        if math.isfinite(norm):
            total.add_(g, alpha=min(1.0, clip_norm / norm if norm else 1.0))
            clipped += norm > clip_norm
        else:
            broken += 1
    return Clipped(total.div_(chunks), loss, len(batch.y), clipped, chunks, broken)


def unclipped(model: Model, row: Tensor, batch: Batch, batch_size: int) -> Clipped:
    """One ordinary gradient of the whole batch."""
    samples = len(batch.y)
    if not samples:
        return Clipped(torch.zeros_like(row), 0.0, 0, 0, 1, 0)
    g, loss = _mean_gradient(model, row, batch)
    broken = not bool(g.isfinite().all())
    g = torch.zeros_like(g) if broken else g.mul_(samples / batch_size)
    return Clipped(g, float(loss.nan_to_num()) * samples, samples, 0, 1, int(broken))


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
        return total.gradient.div_(len(batch.y)), row.new_tensor(
            total.loss / len(batch.y)
        )

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
