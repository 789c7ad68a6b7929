"""The kernels of the grid by their addresses; `tests/privacy/test_grid.py` has the law."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.native.grid import kernels

pytestmark = pytest.mark.skipif(kernels() is None, reason="kernels were not compiled")
KEY = bytes(range(32))
GRID, STD = 2.0**-10, 0.75


def perturbed(key: bytes, row: np.ndarray) -> np.ndarray:
    name = "float" if row.dtype == np.float32 else "double"
    perturb = getattr(kernels(), f"dpdl_perturb_on_grid_{name}")
    into = np.full_like(row, np.nan)
    perturb(key, len(row), row.ctypes.data, STD, GRID, into.ctypes.data)
    return into


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_is_on_the_grid(dtype: type) -> None:
    row = np.random.default_rng(0).standard_normal(700).astype(dtype)
    found = perturbed(KEY, row)
    assert np.array_equal(found, np.rint(found / GRID) * GRID)
    assert 0.6 < (found - row).std() / STD < 1.4


def test_both_types_have_the_same_bits() -> None:
    row = np.random.default_rng(0).standard_normal(700).astype(np.float32)
    wide = perturbed(KEY, row.astype(np.float64))
    assert np.array_equal(perturbed(KEY, row), wide.astype(np.float32))


def test_the_key_decides() -> None:
    row = np.zeros(64)
    assert np.array_equal(perturbed(KEY, row), perturbed(KEY, row))
    assert not np.array_equal(perturbed(KEY, row), perturbed(KEY[::-1], row))


def test_a_longer_row_begins_like_a_shorter_one() -> None:
    long = perturbed(KEY, np.zeros(600))
    for size in (0, 1, 31, 255, 256, 257):
        assert np.array_equal(perturbed(KEY, np.zeros(size)), long[:size])
