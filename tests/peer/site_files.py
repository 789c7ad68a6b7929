"""Files of records for sites in tests of documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def digits_file(path: Path, records: int = 100) -> Path:
    """Random records that look like digits; a fifth of them will be held out for tests."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((records, 1, 8, 8)).astype(np.float32)
    np.savez(path, x=x, y=np.arange(records) % 10)
    return path
