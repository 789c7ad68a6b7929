"""Rows with noise on a grid."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpdl.privacy.grid import perturb_on_grid

KEY = bytes(range(32))


def drawn(
    x: float | np.ndarray,
    std: float = 1.0,
    size: int = 1000,
    key: bytes = KEY,
    dtype=np.float64,
    compiled: bool = True,
) -> np.ndarray:
    """A row, or `size` times the same number, with the noise of a key."""
    row = np.full(size, x, dtype) if isinstance(x, float) else x.astype(dtype)
    perturb_on_grid(key, row, std, row, compiled)
    return row


def words_of(key: bytes, size: int) -> np.ndarray:
    """w and a of the pairs of a row, whose size is a multiple of 256: (2, pairs)."""
    stream = (
        Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(4 * size))
    )
    blocks = np.frombuffer(stream, "<u4").reshape(
        -1, 8, 2, 8, 2
    )  # group, i mod 8, i div 8, p, w or a
    return blocks.transpose(4, 0, 3, 2, 1).reshape(2, -1).astype(np.uint64)


def entries_of(pairs: np.ndarray) -> np.ndarray:
    """Which entries a pair perturbs: (2, pairs)."""
    first = 32 * (pairs // 16) + pairs % 16
    return np.stack([first, first + 16])
