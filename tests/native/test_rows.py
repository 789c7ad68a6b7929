"""The kernels of rows by their addresses: what `rows.c` promises, against numpy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dpdl.native.rows import kernels

pytestmark = pytest.mark.skipif(kernels() is None, reason="kernels were not compiled")


def test_products_of_pieces_of_rows_that_lie_apart() -> None:
    draw = np.random.default_rng(0)
    a = draw.standard_normal((3, 50)).astype(np.float32)
    b = draw.standard_normal((4, 60)).astype(np.float32)
    at, ends = np.array([3, 0, 3]), np.array([7, 7, 40])
    out = np.full((3, 3, 2), np.nan)
    kernels().dpdl_row_products(
        *(3, a.ctypes.data, 50, b.ctypes.data, 60, at.ctypes.data),
        *(3, ends.ctypes.data, out.ctypes.data),
    )
    pieces = [slice(0, 7), slice(7, 7), slice(7, 40)]
    for k, j in enumerate(at):
        for p, piece in enumerate(pieces):
            x, y = a[k, piece].astype(float), b[j, piece].astype(float)
            assert out[k, p] == pytest.approx([x @ y, x @ x], rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_groups_are_written_where_they_belong(dtype: type) -> None:
    rows = np.arange(24, dtype=dtype).reshape(4, 6)
    bounds, at = np.array([0, 2, 2, 3]), np.array([0, 3, 1])
    weight = np.array([0.5, 2.0, -1.0])
    out = np.full((3, 8), 99, dtype=dtype)
    library = kernels()
    add = library.dpdl_row_sums_float
    if dtype is np.float64:
        add = library.dpdl_row_sums_double
    add(
        *(3, bounds.ctypes.data, at.ctypes.data, weight.ctypes.data),
        *(rows.ctypes.data, 6, 5, out.ctypes.data, 8),
    )
    assert out[0, :5].tolist() == (0.5 * rows[0, :5] + 2 * rows[3, :5]).tolist()
    assert out[1, :5].tolist() == [0.0] * 5, "nobody is in the second group"
    assert out[2, :5].tolist() == (-rows[1, :5]).tolist()
    assert (out[:, 5:] == 99).all(), "beyond the width nothing is written"


def test_a_call_with_other_arguments_is_refused() -> None:
    """The types are declared, so that a wrong number of arguments cannot reach the kernels."""
    with pytest.raises(ctypes.ArgumentError):
        kernels().dpdl_row_products(*["text"] * 9)
    with pytest.raises(TypeError):
        kernels().dpdl_row_products(1)
    assert kernels() is kernels()
