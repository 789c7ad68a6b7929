"""The kernels of noise by their addresses; `tests/privacy/test_noise.py` has the laws."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.native.noise import kernels

pytestmark = pytest.mark.skipif(kernels() is None, reason="kernels were not compiled")
KEY = bytes(range(32))


def perturbed(key: bytes, row: np.ndarray, std: float) -> np.ndarray:
    into = np.full_like(row, np.nan)
    kernels().dpdl_perturb(key, len(row), row.ctypes.data, std, into.ctypes.data)
    return into


def test_noise_is_added_and_scaled_by_the_deviation() -> None:
    row = np.linspace(-1, 1, 300, dtype=np.float32)
    noise = perturbed(KEY, np.zeros_like(row), 1.0)
    assert 0.8 < noise.std() < 1.2
    assert np.array_equal(perturbed(KEY, row, 0.0), row)
    np.testing.assert_allclose(perturbed(KEY, row, 2.0), row + 2 * noise, atol=1e-6)


def test_a_key_of_32_bytes_decides_and_may_begin_with_zero() -> None:
    row = np.zeros(100, np.float32)
    assert np.array_equal(perturbed(KEY, row, 1.0), perturbed(KEY, row, 1.0))
    other = KEY[:-1] + b"\xff"
    assert KEY[0] == 0
    assert not np.array_equal(perturbed(KEY, row, 1.0), perturbed(other, row, 1.0))


def test_a_longer_row_begins_like_a_shorter_one() -> None:
    long = perturbed(KEY, np.zeros(1000, np.float32), 1.0)
    for size in (0, 1, 255, 256, 257):
        short = perturbed(KEY, np.zeros(size, np.float32), 1.0)
        assert np.array_equal(short, long[:size])


def test_words_become_normals_in_their_place() -> None:
    words = np.random.default_rng(1).integers(0, 2**63, 2 * 500, dtype=np.uint64)
    drawn = words.copy()
    kernels().dpdl_normals(words.ctypes.data, 500)
    normals = words.view(np.float64)
    assert np.isfinite(normals).all()
    assert not np.array_equal(words, drawn)
    radius = np.hypot(normals[:500], normals[500:])
    order = np.argsort(drawn[:500] >> np.uint64(11))
    assert (np.diff(radius[order]) >= -1e-12).all(), "a larger word, a larger radius"
