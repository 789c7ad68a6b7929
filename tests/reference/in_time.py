"""Two rounds whose noise is correlated: the true delta of one record, by summing two densities over a grid."""

from __future__ import annotations

import numpy as np


def true_delta(rate: float, correlation: float, epsilon: float) -> float:
    """For a record that moves a sampled round by 1, noise of variance 1, and a record that is added."""
    grid = np.linspace(-9, 9, 721)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    precision = np.linalg.inv([[1, correlation], [correlation, 1]])
    scale = np.sqrt(np.linalg.det(precision)) / (2 * np.pi)

    def density(a: float, b: float) -> np.ndarray:
        x, y = first - a, second - b
        square = (
            precision[0, 0] * x**2
            + 2 * precision[0, 1] * x * y
            + precision[1, 1] * y**2
        )
        return scale * np.exp(-square / 2)

    without = density(0, 0)
    present = sum(
        (rate if a else 1 - rate) * (rate if b else 1 - rate) * density(a, b)
        for a in (0, 1)
        for b in (0, 1)
    )
    cell = (grid[1] - grid[0]) ** 2
    return float(np.maximum(present - np.exp(epsilon) * without, 0).sum() * cell)
