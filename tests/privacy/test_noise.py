from __future__ import annotations

import itertools
import math
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from scipy import stats

from dpdl.keys import cipher_key, digest, generator
from dpdl.native import library
from dpdl.privacy import noise as module
from dpdl.privacy.noise import (
    PIECE,
    Reproducible,
    Secure,
    perturb_by_key,
    perturb_on_grid,
)
from tests.privacy.rows import KEY
from tests.privacy.rows import drawn as drawn_on_grid

BOTH = [Reproducible(3), Secure()]
BOTH_TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
SIZES = (0, 1, 2, 15, 16, 17, 255, 256, 257, PIECE + 1, 44_426)


def reference(key: bytes, size: int) -> np.ndarray:
    """The keyed normals as `noise.c` describes them, one pair after the other."""
    groups = -(-size // 256)
    stream = (
        Cipher(ChaCha20(key, bytes(16)), mode=None)
        .encryptor()
        .update(bytes(1024 * groups))
    )
    normals = np.zeros(256 * groups)
    for at, (w, v) in enumerate(struct.iter_unpack("<II", stream)):
        block, p = divmod(at, 8)
        g, b = divmod(block, 16)
        radius, angle = (
            math.sqrt(-2 * math.log((w + 0.5) / 2**32)),
            2 * math.pi * (v + 0.5) / 2**32,
        )
        normals[256 * g + 32 * p + b] = radius * math.cos(angle)
        normals[256 * g + 32 * p + 16 + b] = radius * math.sin(angle)
    return normals[:size]


def noise(
    randomness, *where: int, size: int = 20_000, dtype=torch.float64
) -> torch.Tensor:
    row = torch.zeros(size, dtype=dtype)
    randomness.perturb(row, 1.0, "noise", *where, into=row)
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
    assert len({cipher_key(*key) for key in keys}) == len(keys)
    assert {len(cipher_key(*key)) for key in keys} == {32}


def test_a_key_always_gives_the_same_numbers() -> None:
    assert np.array_equal(
        generator(1, "noise", 2, 3).random(9), generator(1, "noise", 2, 3).random(9)
    )
    assert not np.array_equal(
        generator(1, "noise", 2, 3).random(9), generator(1, "noise", 3, 2).random(9)
    )


@pytest.mark.parametrize("randomness", BOTH)
@BOTH_TYPES
def test_noise_is_standard_normal(randomness, dtype) -> None:
    values = noise(randomness, 1, 0, 0, dtype=dtype).double().numpy()
    assert stats.kstest(values, "norm").pvalue > 1e-4
    assert values.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("randomness", BOTH)
def test_noise_has_the_declared_standard_deviation_and_is_added(randomness) -> None:
    row = torch.full((50_001,), 7.0)
    randomness.perturb(row, 0.25, "noise", 1, 0, 1, into=row)
    assert float(row.mean()) == pytest.approx(7, abs=0.01)
    assert float(row.std()) == pytest.approx(0.25, rel=0.03)


@pytest.mark.parametrize("randomness", BOTH)
@BOTH_TYPES
def test_streams_of_different_edges_and_rounds_are_independent(
    randomness, dtype
) -> None:
    places = ((1, 0, 1), (1, 1, 0), (2, 0, 1), (1, 0, 0))
    rows = torch.stack([noise(randomness, *where, dtype=dtype) for where in places])
    correlation = torch.corrcoef(rows) - torch.eye(4)
    assert correlation.abs().max() < 0.04


@BOTH_TYPES
def test_secure_noise_never_repeats_and_reproducible_noise_does(dtype) -> None:
    def drawn(randomness) -> torch.Tensor:
        return noise(randomness, 1, 0, 1, dtype=dtype)

    assert not torch.equal(drawn(Secure()), drawn(Secure()))
    assert torch.equal(drawn(Reproducible(3)), drawn(Reproducible(3)))
    assert not torch.equal(drawn(Reproducible(3)), drawn(Reproducible(4)))


@pytest.mark.parametrize("size", SIZES)
def test_keyed_noise_is_box_muller_on_the_cipher_of_the_key(
    compiled: bool, size: int
) -> None:
    key = cipher_key(3, "noise", 1, 0, 1)
    single = np.zeros(size, np.float32)
    perturb_by_key(key, single, 1.0, single, compiled)
    np.testing.assert_allclose(single, reference(key, size), rtol=1e-6, atol=1e-12)


def test_reproducible_noise_is_that_of_its_key() -> None:
    drawn = noise(Reproducible(3), 1, 0, 1, size=600, dtype=torch.float32)
    expected = np.zeros(600, np.float32)
    perturb_by_key(cipher_key(3, "noise", 1, 0, 1), expected, 1.0, expected)
    assert np.array_equal(drawn.numpy(), expected)


def test_keyed_noise_has_the_same_bits_on_every_machine() -> None:
    if (kernels := library()) is None:
        pytest.skip("not compiled")
    rows = []
    for level in (0, 1, 2):
        kernels.dpdl_use_at_most(level)
        rows.append(torch.full((44_426,), 0.3))
        Reproducible(3).perturb(rows[-1], 0.7, "noise", 1, 0, 1, into=rows[-1])
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[0], rows[2])


def test_far_out_and_close_to_zero_float32_noise_is_as_exact_as_elsewhere() -> None:
    single = noise(Reproducible(5), 1, 0, 0, size=2**22, dtype=torch.float32).numpy()
    double, stream = (
        np.zeros(2**22),
        module._stream(cipher_key(5, "noise", 1, 0, 0), bytes(16)),
    )
    module._add(double, 1.0, lambda size: module.keyed_normals(stream, size), double)
    assert np.abs(double).max() > 5
    assert np.abs(double).min() < 1e-6
    np.testing.assert_allclose(single, double, rtol=1e-6)


def test_four_million_normals_are_normal() -> None:
    """One seed, so this either always holds or never; bounds are 5 standard deviations."""
    rows = torch.stack(
        [
            noise(Reproducible(5), 1, 0, j, size=2**20, dtype=torch.float32)
            for j in range(4)
        ]
    )
    values = rows.double().numpy().ravel()
    n = values.size
    assert stats.kstest(values, "norm", method="asymp").pvalue > 1e-3
    for power, moment, variance in (
        (1, 0, 1),
        (2, 1, 2),
        (3, 0, 15),
        (4, 3, 96),
        (6, 15, 10_170),
    ):
        assert abs((values**power).mean() - moment) < 5 * math.sqrt(variance / n), power
    for beyond in (0.01, 0.1, 1, 2, 3, 4, 4.5):
        for side in (values, -values):
            p = stats.norm.sf(beyond)
            assert abs((side > beyond).sum() - n * p) < 5 * math.sqrt(
                n * p * (1 - p)
            ), beyond
    for block in (16, 256):
        assert len(np.unique(values.reshape(-1, block), axis=0)) == n // block


@pytest.mark.parametrize(
    ("perturb", "dtype"),
    [
        (perturb_by_key, np.float32),
        (perturb_on_grid, np.float32),
        (perturb_on_grid, np.float64),
    ],
)
def test_noise_is_written_nowhere_else(compiled: bool, perturb, dtype) -> None:
    for size in SIZES:
        room = np.full(size + 600, 7.0, dtype)
        row = room[300 : 300 + size]
        row.fill(0.3)
        perturb(KEY, np.zeros_like(row), 1.0, row, compiled)
        assert (room[:300] == 7).all()
        assert (room[300 + size :] == 7).all()
        assert (row != np.array(0.3, dtype)).all()


@pytest.mark.parametrize("randomness", BOTH)
@BOTH_TYPES
def test_a_row_is_perturbed_into_another_and_nowhere_else(randomness, dtype) -> None:
    room, zeros = torch.full((900,), 7.0, dtype=dtype), torch.zeros(300, dtype=dtype)
    randomness.perturb(zeros, 1.0, "noise", 1, 0, 1, into=room[300:600])
    assert not zeros.any()
    assert (room[:300] == 7).all()
    assert (room[600:] == 7).all()
    assert (room[300:600] != 7).all()


@BOTH_TYPES
def test_a_row_in_any_place_gets_the_same_noise(dtype) -> None:
    flat, shaped, spread = (
        torch.zeros(size, dtype=dtype) for size in ((600,), (3, 200), (600, 2))
    )
    for rows in (flat, shaped, spread[:, 1]):
        Reproducible(3).perturb(rows, 1.0, "noise", 1, 0, 1, into=rows)
    assert torch.equal(shaped.ravel(), flat)
    torch.testing.assert_close(spread[:, 1], flat, rtol=1e-6, atol=0)
    assert (spread[:, 0] == 0).all()


def test_a_row_in_any_place_gets_the_noise_of_its_key(compiled: bool) -> None:
    flat, spread = np.zeros(600, np.float32), np.zeros((600, 2), np.float32)
    perturb_by_key(KEY, flat, 1.0, flat, compiled)
    perturb_by_key(KEY, spread[:, 1], 1.0, spread[:, 1], compiled)
    np.testing.assert_allclose(spread[:, 1], flat, rtol=1e-6, atol=0)
    assert not spread[:, 0].any()


@BOTH_TYPES
def test_threads_get_the_bits_that_one_thread_gets(dtype) -> None:
    def drawn(j: int) -> torch.Tensor:
        return noise(Reproducible(3), 1, 0, j, size=44_426, dtype=dtype)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(drawn, range(16)))
    assert all(torch.equal(row, drawn(j)) for j, row in enumerate(together))


def at_the_ends() -> np.ndarray:
    """Words at both ends of the uniforms with directions on and beside the axes."""
    ends = [
        0,
        2**11 - 1,
        2**11,
        2**61 - 2**11,
        2**61,
        2**62,
        2**63 - 2**11,
        2**63,
        3 * 2**62,
        2**64 - 2**11,
        2**64 - 1,
    ]
    return np.array(list(itertools.product(ends, ends)), np.uint64).T.ravel()


def words(pairs: int) -> np.ndarray:
    return generator(0, "words").integers(0, 2**64, 2 * pairs, np.uint64)


@pytest.mark.parametrize(
    "drawn", [at_the_ends(), *map(words, (0, 1, 2, 3, 7, 8, 9, 1000))], ids=len
)
def test_float64_normals_are_box_muller(compiled: bool, drawn: np.ndarray) -> None:
    expected = np.zeros((2, len(drawn) // 2))
    for k, (w, v) in enumerate(drawn.reshape(2, -1).T.tolist()):
        radius, angle = (
            math.sqrt(-2 * math.log1p(-(w >> 11) / 2**53)),
            2 * math.pi * (v >> 11) / 2**53,
        )
        expected[:, k] = radius * math.cos(angle), radius * math.sin(angle)
    np.testing.assert_allclose(
        module.normals(drawn.copy(), compiled), expected.ravel(), rtol=0, atol=2e-14
    )


def test_secure_noise_is_the_same_for_both_types_and_in_place(compiled: bool) -> None:
    for size in SIZES:
        single = generator(0, "row").standard_normal(size, dtype=np.float32)
        double = single.astype(np.float64)
        perturb_on_grid(KEY, double, 1e-3, double, compiled)
        out = np.empty_like(single)
        perturb_on_grid(KEY, single, 1e-3, out, compiled)
        perturb_on_grid(KEY, single, 1e-3, single, compiled)
        assert np.array_equal(out, double.astype(np.float32))
        assert np.array_equal(single, out)


def test_secure_noise_is_on_the_grid_under_a_key_of_the_operating_system(
    monkeypatch,
) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    drawn = noise(Secure(), size=600)
    expected = np.zeros(600)
    perturb_on_grid(bytes(32), expected, 1.0, expected)
    assert np.array_equal(drawn.numpy(), expected)


def test_secure_noise_does_not_repeat_within_a_row(compiled: bool) -> None:
    """Of entries on a grid some are equal, of eight in a row not all."""
    row = drawn_on_grid(0.0, size=3 * PIECE, compiled=compiled)
    assert len(np.unique(row.reshape(-1, 8), axis=0)) == len(row) // 8


def test_secure_uniforms_are_uniform() -> None:
    values = Secure().uniform(20_000, "batch", 1, 0)
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("randomness", BOTH)
def test_the_entries_of_a_row_are_independent(randomness) -> None:
    """No part of a row is another one's copy, or tells anything about it."""
    row = noise(randomness, 1, 0, 0)
    assert len(row.view(-1, 8).unique(dim=0)) == len(row) // 8
    for parts in (row.split(10_000), (row[:-1], row[1:]), (row[0::2], row[1::2])):
        assert abs(float(torch.corrcoef(torch.stack(parts))[0, 1])) < 0.05
        assert abs(float(torch.corrcoef(torch.stack(parts).square())[0, 1])) < 0.05
