"""How `--randomness secure` drew noise until it was attacked: Box-Muller from 53-bit uniforms, added in float64.

Its numbers lie on grids that depend on what was perturbed. Kept so that the attacks have something to win against.
"""

from __future__ import annotations

import os

import numpy as np

PIECE = 16_384


def leaky_perturb(row: np.ndarray, std: float) -> np.ndarray:
    """Row + N(0, std^2), rounded once to the type of the row; every PIECE entries have pairs of their own."""
    out = np.empty_like(row)
    for start in range(0, row.size, PIECE):
        piece = row[start : start + PIECE]
        pairs = -(-piece.size // 2)
        words = np.frombuffer(os.urandom(16 * pairs), np.uint64)
        u, turn = np.split((words >> np.uint64(11)) * 2.0**-53, 2)
        radius, angle = np.sqrt(-2 * np.log1p(-u)), 2 * np.pi * turn
        normals = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[
            : piece.size
        ]
        out[start : start + PIECE] = piece + std * normals
    return out
