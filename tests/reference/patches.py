"""Answers of one image to whitened patches, as the formula says, place by place."""

from __future__ import annotations

import numpy as np

SIDE, STEP, CELLS, FLAT, THRESHOLD = 6, 1, 4, 10.0, 0.8


def answers(image: np.ndarray, filters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """z_k(u) of an image (3, height, width): (K, rows, columns)."""
    rows, columns = ((size - SIDE) // STEP + 1 for size in image.shape[1:])
    out = np.empty((len(filters), rows, columns))
    for r in range(rows):
        for c in range(columns):
            patch = image[:, STEP * r : STEP * r + SIDE, STEP * c : STEP * c + SIDE]
            patch = patch - patch.mean()
            q = patch / np.sqrt((patch**2).mean() + FLAT)
            for k, one in enumerate(filters):
                out[k, r, c] = (one * q).sum() - offsets[k]
    return out


def weight(cell: int, place: int, places: int) -> float:
    """A triangle as wide as two of four equal parts of a row, around the middle of one of them."""
    width = places / CELLS
    return max(0.0, 1 - abs(place - (width * (cell + 0.5) - 0.5)) / width)


def pooled(values: np.ndarray) -> np.ndarray:
    """Weighted means of (rows, columns) in CELLS x CELLS cells."""
    rows, columns = values.shape
    out = np.zeros((CELLS, CELLS))
    for a in range(CELLS):
        for b in range(CELLS):
            total = 0.0
            for r in range(rows):
                for c in range(columns):
                    w = weight(a, r, rows) * weight(b, c, columns)
                    out[a, b] += w * values[r, c]
                    total += w
            out[a, b] /= total
    return out


def features(image: np.ndarray, filters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(2 K, CELLS, CELLS): roots of what the image and its mirror image have together."""
    out = np.zeros((2 * len(filters), CELLS, CELLS))
    for seen in (image, image[:, :, ::-1]):
        z = answers(seen, filters, offsets)
        for k in range(len(filters)):
            out[k] += pooled(np.maximum(0, z[k] - THRESHOLD))
            out[len(filters) + k] += pooled(np.maximum(0, -z[k] - THRESHOLD))
    return np.sqrt(out)
