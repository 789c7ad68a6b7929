"""Scattering by its definition: sums over pixels in float64, one output pixel after another; nothing shared with `src`.

Filters are functions of a place in the plane, measured in pixels of the image. On a grid of a wider step they are
sampled at that step, times the area of a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

Filter = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # (row, column), in pixels -> value
TURNS = 3  # how often the plane is wrapped around the image, each way


def gaussian(sigma: float, slant: float = 1.0, angle: float = 0.0) -> Filter:
    """Mass 1 in the plane, deviation sigma along the angle and sigma / slant across it."""

    def value(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        along = column * np.cos(angle) + row * np.sin(angle)
        across = row * np.cos(angle) - column * np.sin(angle)
        return (
            slant
            / (2 * np.pi * sigma**2)
            * np.exp(-(along**2 + slant**2 * across**2) / (2 * sigma**2))
        )

    return value


def gabor(sigma: float, xi: float, slant: float, angle: float) -> Filter:
    envelope = gaussian(sigma, slant, angle)

    def value(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return envelope(row, column) * np.exp(
            1j * xi * (column * np.cos(angle) + row * np.sin(angle))
        )

    return value


def sampled(f: Filter, size: tuple[int, int], step: int) -> np.ndarray:
    """A filter on a periodic grid of so many cells."""
    total = np.zeros(size, dtype=complex)
    rows, columns = np.indices(size)
    for up in range(-TURNS, TURNS + 1):
        for left in range(-TURNS, TURNS + 1):
            total += step**2 * f(
                step * (rows + up * size[0]), step * (columns + left * size[1])
            )
    return total


@cache
def morlet(
    j: int, angle: float, L: int, size: tuple[int, int], step: int
) -> np.ndarray:
    sigma, xi, slant = 0.8 * 2**j, 0.75 * np.pi / 2**j, 4 / L
    wave = sampled(gabor(sigma, xi, slant, angle), size, step)
    envelope = sampled(gaussian(sigma, slant, angle), size, step)
    return wave - wave.sum() / envelope.sum() * envelope


@cache
def low_pass(J: int, size: tuple[int, int], step: int) -> np.ndarray:
    phi = sampled(gaussian(0.8 * 2 ** (J - 1)), size, step).real
    return phi / phi.sum()


def convolution(f: np.ndarray, every: int) -> np.ndarray:
    """The matrix of f(p - q) on the periodic grid: a column for every pixel q, a row for every so-many-th p."""
    backwards = np.roll(f[::-1, ::-1], (1, 1), axis=(0, 1))  # f(-q)
    height, width = f.shape
    rows = []
    for row in range(0, height, every):
        for column in range(0, width, every):
            rows.append(np.roll(backwards, (row, column), axis=(0, 1)).ravel())
    return np.stack(rows)


def convolved(images: np.ndarray, f: np.ndarray, every: int) -> np.ndarray:
    """(x * f)(p) = sum_q f(p - q) x(q), for each x of `images`."""
    matrix = convolution(f, every)
    return np.stack(
        [
            (matrix @ x.ravel()).reshape([size // every for size in x.shape])
            for x in images
        ]
    )


def padded(x: np.ndarray, J: int) -> np.ndarray:
    return np.pad(x, [(2**J, 2**J + -size % 2**J) for size in x.shape], mode="reflect")


def scattering(x: np.ndarray, J: int, L: int) -> np.ndarray:
    """The features (1 + J L + L^2 J (J - 1) / 2, ceil(H / 2^J), ceil(W / 2^J)) of one grey image (H, W)."""

    def averages(u: np.ndarray, step: int) -> np.ndarray:
        return convolved(u, low_pass(J, u.shape[1:], step), 2**J // step).real[
            :, 1:-1, 1:-1
        ]

    def moduli(u: np.ndarray, step: int, j: int, number: int) -> np.ndarray:
        return np.abs(
            convolved(
                u, morlet(j, np.pi * number / L, L, u.shape[1:], step), 2**j // step
            )
        )

    image = padded(np.asarray(x, dtype=np.float64), J)[None]
    paths: dict[tuple[int, ...], np.ndarray] = {(): averages(image, 1)[0]}
    for j in range(J):
        u = np.concatenate([moduli(image, 1, j, number) for number in range(L)])
        for number, s in enumerate(averages(u, 2**j)):
            paths[j, number] = s
        for coarser in range(j + 1, J):
            for other in range(L):
                for number, s in enumerate(
                    averages(moduli(u, 2**j, coarser, other), 2**coarser)
                ):
                    paths[j, number, coarser, other] = s
    return np.stack(
        [paths[path] for path in sorted(paths, key=lambda path: (len(path), path))]
    )
