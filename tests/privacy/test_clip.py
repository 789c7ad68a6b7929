"""The three ways to bound a gradient: what each promises, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch

from dpdl.errors import InputError
from dpdl.privacy.clip import Clip, Clipped, PerChunk, PerSample, Unclipped
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module

TASK = Task(small_module(), dtype=torch.float64)
SIZE = 6
"""B."""


def gradient(clip: Clip, batch: Batch) -> torch.Tensor:
    return clip.gradient(TASK, TASK.initial, batch, SIZE).gradient


def without_first(batch: Batch) -> Batch:
    return Batch(*(part[1:] for part in batch))


@pytest.mark.parametrize("size", [1, 8, 4096])
def test_only_a_record_that_is_clipped_by_itself_is_bounded_by_c_over_b(
    size: int,
) -> None:
    assert PerSample(0.7).sensitivity(size) == 0.7 / size
    assert PerChunk(0.7, 4).sensitivity(size) == 1.4
    assert Unclipped(0.7).sensitivity(size) is None
    assert [
        c.bounds_record for c in (PerSample(1.0), PerChunk(1.0, 4), Unclipped())
    ] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("clip", [PerSample(0.3), PerChunk(0.3, 3)], ids=str)
def test_a_record_less_moves_the_mean_by_at_most_the_sensitivity(clip: Clip) -> None:
    for seed in range(20):
        batch = small_batch(5, seed)
        apart = gradient(clip, batch) - gradient(clip, without_first(batch))
        most = clip.sensitivity(SIZE)
        assert most is not None
        assert 0 < float(apart.norm()) <= most * (1 + 1e-9)


def test_the_bound_of_a_record_is_reached() -> None:
    """A smaller one would be wrong: a gradient longer than C moves the mean by C / B."""
    one = Batch(*(part[:1] for part in small_batch(3, 0)))
    moved = gradient(PerSample(1e-3), one) - gradient(
        PerSample(1e-3), without_first(one)
    )
    assert float(moved.norm()) == pytest.approx(1e-3 / SIZE)


def test_an_unclipped_record_moves_the_mean_as_far_as_it_likes() -> None:
    """A wrong answer, given with great certainty, is corrected with all its weight."""
    batch = small_batch(4, 1)
    wild = 1e6 * batch.x[:1]
    wrong = (TASK.outputs(TASK.initial, wild).argmax(1) + 1) % 3
    x, y = torch.cat([wild, batch.x[1:]]), torch.cat([wrong, batch.y[1:]])
    added = Batch(x, y, batch.key)
    apart = gradient(Unclipped(), added) - gradient(Unclipped(), without_first(added))
    assert float(apart.norm()) > 1e3


def test_means_are_over_the_public_batch_size() -> None:
    batch = small_batch(4, 2)
    for clip in (PerSample(0.5), Unclipped()):
        twice = clip.gradient(TASK, TASK.initial, batch, 2 * SIZE).gradient
        assert torch.allclose(2 * twice, gradient(clip, batch), atol=1e-15)


@pytest.mark.parametrize("norm", [0.0, -1.0, math.inf, math.nan])
def test_a_norm_that_bounds_nothing_does_not_construct(norm: float) -> None:
    for make in (PerSample, Unclipped, lambda c: PerChunk(c, 4)):
        with pytest.raises(InputError, match="clip must be a finite number above 0"):
            make(norm)


@pytest.mark.parametrize("chunks", [0, -3])
def test_a_batch_has_at_least_one_chunk(chunks: int) -> None:
    with pytest.raises(InputError, match="chunks must be at least 1"):
        PerChunk(1.0, chunks)


def test_a_clipped_gradient_shows_no_number_of_itself() -> None:
    found = Clipped(torch.full((1234,), 0.5), 7.25, 3, 1, 3, 0)
    assert repr(found) == "Clipped(private gradient of 1,234 entries)"
