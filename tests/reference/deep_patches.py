"""Answers of a second layer of patches to one image, as the formula says, place by place."""

from __future__ import annotations

import numpy as np

from tests.reference.patches import THRESHOLD, answers, pooled

MEAN, SQUARE, FLAT = 3, 2, 0.001
Bank = tuple[np.ndarray, np.ndarray]
"""Filters and what is taken off their answers."""


def maps(image: np.ndarray, first: Bank) -> np.ndarray:
    """m_ks(v) of an image (3, height, width): (2 K, rows, columns)."""
    z = answers(image, *first)
    rows, columns = (size // MEAN for size in z.shape[1:])
    out = np.empty((2 * len(z), rows, columns))
    for r in range(rows):
        for c in range(columns):
            some = z[:, MEAN * r : MEAN * (r + 1), MEAN * c : MEAN * (c + 1)]
            for k in range(len(z)):
                above = np.maximum(0, some[k] - THRESHOLD)
                below = np.maximum(0, -some[k] - THRESHOLD)
                out[k, r, c] = np.sqrt(above.mean())
                out[len(z) + k, r, c] = np.sqrt(below.mean())
    return out


def second_answers(m: np.ndarray, second: Bank) -> np.ndarray:
    """y_l(v) of maps: (L, rows, columns)."""
    filters, offsets = second
    rows, columns = (size - SQUARE + 1 for size in m.shape[1:])
    out = np.empty((len(filters), rows, columns))
    for r in range(rows):
        for c in range(columns):
            square = m[:, r : r + SQUARE, c : c + SQUARE]
            square = square - square.mean()
            q = square / np.sqrt((square**2).mean() + FLAT)
            for k, one in enumerate(filters):
                out[k, r, c] = (one * q).sum() - offsets[k]
    return out


def second_features(image: np.ndarray, first: Bank, second: Bank) -> np.ndarray:
    """(2 L, cells, cells): roots of what the image and its mirror image have together."""
    found = []
    for seen in (image, image[:, :, ::-1]):
        y = second_answers(maps(seen, first), second)
        parts = np.concatenate([y - THRESHOLD, -y - THRESHOLD])
        found.append(np.stack([pooled(np.maximum(0, part)) for part in parts]))
    return np.sqrt(found[0] + found[1])
