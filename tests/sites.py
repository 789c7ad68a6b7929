"""Sites with files of their own, for tests: digits of different numbers and classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

SIZES = (60, 45, 80, 50, 70)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Pictures and labels in one fixed order."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    x = (found.data / 8 - 1).astype(np.float32).reshape(-1, 1, 8, 8)
    return x[order], found.target[order].astype(np.int64)


def write_sites(folder: Path, sizes: tuple[int, ...] = SIZES) -> list[str]:
    """The files `site0.npz`, `site1.npz`, ... in a folder; the first site has no class above 4."""
    x, y = digits()
    files = []
    start = 0
    for number, size in enumerate(sizes):
        rows = np.arange(start, start + size)
        if number == 0:
            rows = np.flatnonzero(y < 5)[:size]
        file = folder / f"site{number}.npz"
        np.savez(file, x=x[rows], y=y[rows])
        files.append(str(file))
        start += size
    return files


def write_test(folder: Path, records: int = 40) -> str:
    """The file `test.npz` with public test records."""
    x, y = digits()
    np.savez(folder / "test.npz", x=x[-records:], y=y[-records:])
    return str(folder / "test.npz")
