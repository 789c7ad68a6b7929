from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from dpdl.keys import digest, generator
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.sampling import FixedSize, Poisson

BOTH = [Reproducible(3), Secure()]


def noise(randomness, *where: int, size: int = 20_000, dtype=torch.float64) -> torch.Tensor:
    row = torch.zeros(size, dtype=dtype)
    randomness.perturb(row, 1.0, "noise", *where)
    return row


def test_no_two_keys_share_a_stream() -> None:
    keys = [
        (seed, purpose, *where)
        for seed in (0, 1, 11)
        for purpose in ("noise", "batch", "init")
        for n in (0, 1, 2, 3)
        for where in itertools.product((0, 1, 11), repeat=n)
    ]
    assert len({digest(*key) for key in keys}) == len(keys) == len(set(keys))


def test_a_key_always_gives_the_same_numbers() -> None:
    assert np.array_equal(generator(1, "noise", 2, 3).random(9), generator(1, "noise", 2, 3).random(9))
    assert not np.array_equal(generator(1, "noise", 2, 3).random(9), generator(1, "noise", 3, 2).random(9))


@pytest.mark.parametrize("randomness", BOTH)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_is_standard_normal(randomness, dtype) -> None:
    values = noise(randomness, 1, 0, 0, dtype=dtype).double().numpy()
    assert stats.kstest(values, "norm").pvalue > 1e-4
    assert values.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("randomness", BOTH)
def test_noise_has_the_declared_standard_deviation_and_is_added(randomness) -> None:
    row = torch.full((50_001,), 7.0)
    randomness.perturb(row, 0.25, "noise", 1, 0, 1)
    assert float(row.mean()) == pytest.approx(7, abs=0.01)
    assert float(row.std()) == pytest.approx(0.25, rel=0.03)


@pytest.mark.parametrize("randomness", BOTH)
def test_streams_of_different_edges_and_rounds_are_independent(randomness) -> None:
    rows = torch.stack([noise(randomness, *where) for where in ((1, 0, 1), (1, 1, 0), (2, 0, 1), (1, 0, 0))])
    correlation = torch.corrcoef(rows) - torch.eye(4)
    assert correlation.abs().max() < 0.04


def test_secure_noise_never_repeats_and_reproducible_noise_does() -> None:
    assert not torch.equal(noise(Secure(), 1, 0, 1), noise(Secure(), 1, 0, 1))
    assert torch.equal(noise(Reproducible(3), 1, 0, 1), noise(Reproducible(3), 1, 0, 1))
    assert not torch.equal(noise(Reproducible(3), 1, 0, 1), noise(Reproducible(4), 1, 0, 1))


def test_secure_uniforms_are_uniform() -> None:
    values = Secure().uniform(20_000, "batch", 1, 0)
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("randomness", BOTH)
def test_poisson_takes_every_record_at_the_public_rate(randomness) -> None:
    sizes, hits = [], np.zeros(50)
    for t in range(2_000):
        picked = Poisson(10)(50, randomness, t, 4)
        sizes.append(len(picked))
        hits[picked] += 1
    assert np.mean(sizes) == pytest.approx(10, abs=0.4)
    assert np.var(sizes) == pytest.approx(50 * 0.2 * 0.8, rel=0.2)
    assert np.abs(hits / 2_000 - 0.2).max() < 0.05


@pytest.mark.parametrize("randomness", BOTH)
def test_fixed_size_takes_exactly_b_different_records(randomness) -> None:
    hits = np.zeros(20)
    for t in range(1_000):
        picked = FixedSize(5)(20, randomness, t, 0)
        assert len(set(picked)) == 5
        hits[picked] += 1
    assert np.abs(hits / 1_000 - 0.25).max() < 0.07


@pytest.mark.parametrize("randomness", BOTH)
def test_the_entries_of_a_row_are_independent(randomness) -> None:
    """No entry is another one's copy, and no part of a row tells anything about another part."""
    row = noise(randomness, 1, 0, 0)
    assert len(row.unique()) == len(row)
    for parts in (row.split(10_000), (row[:-1], row[1:]), (row[0::2], row[1::2])):
        assert abs(float(torch.corrcoef(torch.stack(parts))[0, 1])) < 0.05
        assert abs(float(torch.corrcoef(torch.stack(parts).square())[0, 1])) < 0.05
