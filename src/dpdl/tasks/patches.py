"""Answers of an image to whitened patches: features that were fixed before any data was seen.

So they cost no privacy. With f_k the K filters, f'_k their mirror images, b_k what is taken off,
and p_u the patch of 6 x 6 pixels at place u, every row and column,

    q_u = (p_u - mean p_u) / sqrt(var p_u + 10)
    z_k(u) = <f_k, q_u> - b_k,   z'_k(u) = <f'_k, q_u> - b_k
    S_ks(c) = sum_u w_c(u) (max(0, s z_k(u) - 0.8) + max(0, s z'_k(mirror u) - 0.8)),   s = +1, -1
    feature = sqrt S_ks(c)

where w_c are 4 x 4 overlapping triangles over the image, each of sum 1. S is the same for an image
and its mirror image. The root keeps a few filters that answer much from taking up the length that
all features share. This is single-layer feature extraction of Coates, Ng and Lee, "An analysis of
single-layer networks in unsupervised feature learning" (2011), with triangles in place of four
quarters, and with filters that no training data had a part in: whitened patches of two photographs
(`tools/patch_filters.py`), `china.jpg` by danielbuechele and `flower.jpg` by vultilion, as
scikit-learn installs them, both CC BY 2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dpdl.errors import InputError

VERSION = 3
"""Of filters and formula: another one gives other features."""
Shape = tuple[int, ...]

FILE = Path(__file__).with_name("patches.npz")
SIDE = 6
STEP = 1
CELLS = 4
FLAT = 10.0
"""Variance of pixels that is added, so that noise of flat patches is not enlarged."""
THRESHOLD = 0.8
LEAST = SIDE + (CELLS - 1) * STEP
"""Pixels that an image must have for one place in every cell."""
CHUNK = 4
"""Images at once; the answers of more do not fit into the cache."""


@final
@dataclass(frozen=True)
class Patches:
    """The transform of colour images of one shape (3, height, width), with pixels from 0 to 255."""

    shape: Shape
    version: int = VERSION

    def __post_init__(self) -> None:
        check_images(self.shape, LEAST, "patches")

    @property
    def out(self) -> tuple[int, int, int]:
        """The shape of the features of one image: filters and signs, rows and columns."""
        return 2 * len(self._bank[1]), CELLS, CELLS

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """The features `(n, *out)` of the images `(n, *shape)`, in float32."""
        check_shape(x, self.shape)
        out = torch.empty(len(x), *self.out)
        for some in torch.arange(len(x)).split(CHUNK):
            out[some] = self._features(x[some].float())
        return out

    def _features(self, x: Tensor) -> Tensor:
        return self.features([self.pooled(part) for part in self.signs(x)])

    def signs(self, x: Tensor) -> Iterator[Tensor]:
        """What of the answers is above the threshold, then what is below, (n, 2 K, places)."""
        q = functional.unfold(x, SIDE, stride=STEP)
        q = q - q.mean(dim=1, keepdim=True)
        q = q / (q.square().mean(dim=1, keepdim=True) + FLAT).sqrt_()
        filters, offsets = self._both
        z = (filters @ q).sub_(offsets)
        yield (z - THRESHOLD).clamp_(min=0)
        yield z.neg_().sub_(THRESHOLD).clamp_(min=0)

    def pooled(self, part: Tensor) -> Tensor:
        """One of the signs in all cells, (n, 2 K, cells)."""
        return part @ self._pools

    def features(self, parts: list[Tensor]) -> Tensor:
        """The features of both signs that were pooled."""
        pooled = torch.stack(parts, dim=1)
        pooled = pooled.view(len(pooled), 2, 2, -1, CELLS, CELLS)
        # Filters, then their mirror images: those are added with columns turned round.
        folded = pooled[:, :, 0] + pooled[:, :, 1].flip(-1)
        return folded.flatten(1, 2).sqrt_()

    @property
    def places(self) -> tuple[int, int]:
        """Rows and columns of places where a patch is."""
        height, width = self.shape[1:]
        return (height - SIDE) // STEP + 1, (width - SIDE) // STEP + 1

    @cached_property
    def _bank(self) -> tuple[Tensor, Tensor]:
        return bank(FILE)

    @cached_property
    def _both(self) -> tuple[Tensor, Tensor]:
        """All filters and then their mirror images, (2 K, 3 SIDE^2), with what is taken off."""
        filters, offsets = self._bank
        both = torch.cat([filters, filters.flip(-1)]).flatten(1)
        return both, torch.cat([offsets, offsets])[:, None]

    @cached_property
    def _pools(self) -> Tensor:
        return pools(*self.places)


def check_images(shape: Shape, least: int, on: str) -> None:
    """Refuse images that have no three colours or too few pixels for a model on such features."""
    if len(shape) != 3 or shape[0] != 3 or min(shape[1:]) < least:
        raise InputError(
            f"A model on {on} needs colour images (3, height, width) of at least {least} x "
            f"{least} pixels, but the data has shape {shape}; use --model scatter-linear."
        )


def check_shape(x: Tensor, shape: Shape) -> None:
    """Refuse images of another shape than that of the transform."""
    if x.shape[1:] != shape:
        raise InputError(
            f"These filters take images of shape {shape}, not {tuple(x.shape[1:])}."
        )


def bank(file: Path) -> tuple[Tensor, Tensor]:
    """Filters of a file of the package and what is taken off their answers, in float32."""
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
        filters, offsets = (
            torch.from_numpy(found[name]) for name in ("filters", "offsets")
        )
    return filters.float(), offsets.float()


def pools(rows: int, columns: int) -> Tensor:
    """w_c(u) for rows and columns of places, (places, cells)."""
    both = torch.kron(_triangles(rows), _triangles(columns))
    return both.T.contiguous()


def _triangles(places: int) -> Tensor:
    """Overlapping triangles over a row of places, (CELLS, places), each of sum 1."""
    width = places / CELLS
    tops = width * (torch.arange(CELLS, dtype=torch.float64) + 0.5) - 0.5
    away = (torch.arange(places, dtype=torch.float64) - tops[:, None]).abs() / width
    found = (1 - away).clamp(min=0)
    return (found / found.sum(dim=1, keepdim=True)).float()
