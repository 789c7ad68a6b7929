"""Rows with noise on a grid."""

from __future__ import annotations

import numpy as np

from dpdl.privacy.grid import perturb_on_grid

KEY = bytes(range(32))


def drawn(x: float | np.ndarray, std: float = 1.0, size: int = 1000, key: bytes = KEY, dtype=np.float64) -> np.ndarray:
    """A row, or `size` times the same number, with the noise of a key."""
    row = np.full(size, x, dtype) if isinstance(x, float) else x.astype(dtype)
    perturb_on_grid(key, row, std, row)
    return row
