"""The bounds that privacy rests on, and the plain loops the fast formulas must equal."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from dpdl.privacy.clip import PerChunk, PerSample, Unclipped
from dpdl.privacy.clipping import per_sample
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module


def one_by_one(task: Task, row: Tensor, batch: Batch) -> list[Tensor]:
    """Gradients by ordinary backward, one sample at a time."""
    module = task.module(row)
    found = []
    for x, y in zip(batch.x, batch.y, strict=True):
        module.zero_grad()
        nn.functional.cross_entropy(module(x[None]), y[None]).backward()
        found.append(torch.cat([p.grad.flatten() for p in module.parameters()]))
    return found


SIZE = 5
"""B."""


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(small_module(), dtype=torch.float64)


@settings(max_examples=20, deadline=None)
@given(size=st.integers(0, 12), clip=st.floats(0.01, 20), seed=st.integers(0, 99))
def test_per_sample_equals_one_sample_at_a_time(
    task: Task, size: int, clip: float, seed: int
) -> None:
    batch = small_batch(size, seed)
    found = PerSample(clip).gradient(task, task.initial, batch, 8)
    clipped = [
        g * min(1.0, clip / float(g.norm()))
        for g in one_by_one(task, task.initial, batch)
    ]
    expected = sum(clipped, torch.zeros_like(task.initial)) / 8
    assert (found.gradient - expected).abs().max() < 1e-12
    assert found.samples == size
    assert found.clipped == sum(
        float(g.norm()) > clip for g in one_by_one(task, task.initial, batch)
    )


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(0, 9),
    clip=st.floats(0.01, 5),
    seed=st.integers(0, 99),
    gone=st.integers(0, 9),
)
def test_one_record_moves_a_per_sample_gradient_by_at_most_c_over_b(
    task: Task, size: int, clip: float, seed: int, gone: int
) -> None:
    whole = small_batch(size + 1, seed)
    keep = torch.arange(size + 1) != gone % (size + 1)
    less = Batch(whole.x[keep], whole.y[keep], whole.key[keep])
    rule = PerSample(clip)
    moved = (
        rule.gradient(task, task.initial, whole, SIZE).gradient
        - rule.gradient(task, task.initial, less, SIZE).gradient
    )
    assert moved.norm() <= rule.sensitivity(SIZE) * (1 + 1e-9)


def test_memory_chunks_do_not_change_the_result(task: Task) -> None:
    batch = small_batch(11, 1)
    whole = per_sample(task, task.initial, batch, 0.5, 8)
    parts = per_sample(task, task.initial, batch, 0.5, 8, most_samples=3)
    assert (whole.gradient - parts.gradient).abs().max() < 1e-14
    assert whole[1:] == pytest.approx(parts[1:], nan_ok=True)


def test_chunks_clip_the_mean_of_every_chunk(task: Task) -> None:
    batch = small_batch(10, 4)
    gradients = one_by_one(task, task.initial, batch)
    means = [
        torch.stack(part).mean(0)
        for part in (gradients[:3], gradients[3:6], gradients[6:8], gradients[8:])
    ]
    clip = float(torch.stack(means).norm(dim=1).median())
    expected = sum(g * min(1.0, clip / float(g.norm())) for g in means) / 4
    found = PerChunk(clip, 4).gradient(task, task.initial, batch, 1)
    assert (found.gradient - expected).abs().max() < 1e-12
    assert 0 < found.clipped < 4


def test_a_record_can_move_a_chunk_clipped_gradient_far_beyond_c_over_b(
    task: Task,
) -> None:
    """Why the public code's clipping protects nobody: one loud record turns its whole chunk."""
    quiet = small_batch(40, 2)
    loud = Batch(quiet.x.clone(), quiet.y, quiet.key)
    loud.x[0] *= 1e3
    rule = PerChunk(0.01, 4)
    moved = (
        rule.gradient(task, task.initial, loud, SIZE).gradient
        - rule.gradient(task, task.initial, quiet, SIZE).gradient
    )
    assert moved.norm() > 5 * 0.01 / 40
    assert moved.norm() <= rule.sensitivity(SIZE)


def test_unclipped_is_the_sum_over_the_public_batch_size(task: Task) -> None:
    batch = small_batch(7, 8)
    expected = sum(one_by_one(task, task.initial, batch)) / 5
    assert (
        Unclipped().gradient(task, task.initial, batch, 5).gradient - expected
    ).abs().max() < 1e-12


@pytest.mark.parametrize("rule", [PerSample(1.0), PerChunk(1.0, 4), Unclipped()])
def test_an_empty_batch_gives_a_zero_gradient(task: Task, rule) -> None:
    found = rule.gradient(task, task.initial, small_batch(0, 0), 4)
    assert found.gradient.abs().max() == 0
    assert found.samples == 0


def test_a_broken_gradient_counts_as_zero_and_is_counted(task: Task) -> None:
    batch = small_batch(6, 3)
    spoiled = Batch(batch.x.clone(), batch.y, batch.key)
    spoiled.x[2] = torch.nan
    keep = torch.arange(6) != 2
    rest = Batch(batch.x[keep], batch.y[keep], batch.key[keep])
    found, expected = (
        PerSample(1.0).gradient(task, task.initial, spoiled, 4),
        PerSample(1.0).gradient(task, task.initial, rest, 4),
    )
    assert found.broken == 1
    assert (found.gradient - expected.gradient).abs().max() < 1e-14
    for rule in (PerChunk(1.0, 2), Unclipped()):
        found = rule.gradient(task, task.initial, spoiled, SIZE)
        assert found.broken == 1
        assert found.gradient.isfinite().all()
