"""Answers to whitened patches of an image, and beside them those of a second layer of patches.

The second layer sees what the first one says, with z_k(u) the answers of its K filters to an image
(`patches.py`), averaged 3 x 3 at every third row and column: 2 K maps

    m_ks(v) = sqrt(mean over 3 x 3 places u of max(0, s z_k(u) - 0.8)),   s = +1, -1

Patches of 2 x 2 of these, 8 K numbers, are answered as pixels are: with g_l the second filters and
a_l what is taken off,

    q_v = (m_v - mean m_v) / sqrt(var m_v + 0.001),   y_l(v) = <g_l, q_v> - a_l

Both signs of y over 0.8 are averaged in 4 x 4 triangles over the image, added to those of the
mirror image, and the features h are the roots. With p the features of the first layer, a model sees

    x = (p / |p|, h / (2 |h|)), scaled to length 3

Coates and Ng stack their single-layer method so in "Selecting receptive fields in deep networks"
(2011), with fields that they choose; here a field is a square of all maps. No training data had a
part in the second filters either: `tools/patch_filters.py` makes them of the two photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from dpdl.tasks.directions import beside
from dpdl.tasks.patches import (
    CELLS,
    CHUNK,
    SIDE,
    THRESHOLD,
    Patches,
    Shape,
    bank,
    check_images,
    check_shape,
    pools,
)

VERSION = 1
"""Of filters and formula: another one gives other features."""

FILE = Path(__file__).with_name("deep_patches.npz")
MEAN = 3
"""Places, down and across, of the first layer that are one of the second."""
SQUARE = 2
"""Of those, how many a patch has down and across."""
FLAT = 0.001
LEAST = SIDE - 1 + MEAN * (CELLS + SQUARE - 1)
"""Pixels that an image must have for one place in every cell."""


@final
@dataclass(frozen=True)
class DeepPatches:
    """The transform of colour images of one shape (3, height, width), with pixels from 0 to 255."""

    shape: Shape
    version: int = VERSION

    def __post_init__(self) -> None:
        check_images(self.shape, LEAST, "two layers of patches")

    @cached_property
    def first(self) -> Patches:
        """The first layer."""
        return Patches(self.shape)

    @property
    def out(self) -> tuple[int]:
        """How many features an image has: those of the first layer, then those of the second."""
        filters, cells, _ = self.first.out
        return ((filters + 2 * len(self._bank[1])) * cells**2,)

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """The features `(n, *out)` of the images `(n, *shape)`, in float32."""
        check_shape(x, self.shape)
        out = torch.empty(len(x), *self.out)
        for some in torch.arange(len(x)).split(CHUNK):
            out[some] = self._features(x[some].float())
        return out

    def _features(self, x: Tensor) -> Tensor:
        features, q = self.seen(x)
        return beside(features, self._second(q))

    def seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the first layer; q_v of images and mirror images, (n, 2, 8 K, places)."""
        pooled, maps = [], []
        for part in self.first.signs(x):
            pooled.append(self.first.pooled(part))
            maps.append(self._averaged(part))
        return self.first.features(pooled), patches(torch.cat(maps, dim=2))

    def _averaged(self, part: Tensor) -> Tensor:
        """The maps m of one sign, of images and their mirror images: (n, 2, K, rows, columns)."""
        rows, columns = self.first.places
        ahead, mirrored = part.unflatten(2, (rows, columns)).chunk(2, dim=1)
        # Answers of the mirror image lie turned round: what is left over of it comes first.
        mirrored = mirrored[..., columns % MEAN :]
        means = [functional.avg_pool2d(one, MEAN) for one in (ahead, mirrored)]
        return torch.stack([means[0], means[1].flip(-1)], dim=1).sqrt_()

    def _second(self, q: Tensor) -> Tensor:
        """The features of the second layer, (n, 2 L, cells)."""
        filters, offsets = self._bank
        y = (filters.flatten(1) @ q).sub_(offsets[:, None])
        both = torch.cat([y - THRESHOLD, -y - THRESHOLD], dim=2).clamp_(min=0)
        pooled: Tensor = both @ self._pools
        return pooled.sum(dim=1).sqrt_()

    @cached_property
    def _bank(self) -> tuple[Tensor, Tensor]:
        return bank(FILE)

    @cached_property
    def _pools(self) -> Tensor:
        rows, columns = (size // MEAN - SQUARE + 1 for size in self.first.places)
        return pools(rows, columns)


def patches(maps: Tensor) -> Tensor:
    """Squares of maps (n, 2, 2 K, rows, columns), without their mean and of about one length."""
    q = functional.unfold(maps.flatten(0, 1), SQUARE)
    q = q - q.mean(dim=1, keepdim=True)
    q = q / (q.square().mean(dim=1, keepdim=True) + FLAT).sqrt_()
    return q.view(-1, 2, *q.shape[1:])
