"""Features of one length, around a centre or not.

With u = f / |f| the features of a record, of length 1, and c a centre that all agents know,

    x = 3 (u - c) / |u - c|

so the bias of a linear layer stands for one more feature, of length 1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

LENGTH = 3.0
TOGETHER = 32
SHARE = 0.5
"""How long features are that stand beside others of length 1."""


def of_length(features: Tensor, length: float = LENGTH) -> Tensor:
    """Every image's features, scaled to one length; an image without contrast has none."""
    norms = features.flatten(1).norm(dim=1).clamp(min=1e-12)
    scale: Tensor = (length / norms).view(-1, *[1] * (features.dim() - 1))
    return features * scale


def beside(features: Tensor, others: Tensor) -> Tensor:
    """Two kinds of features of images as one row each, the others' part half as long."""
    parts = of_length(features, 1.0), of_length(others, SHARE)
    return of_length(torch.cat([part.flatten(1) for part in parts], dim=1))


def centred(features: Tensor, centre: Tensor) -> Tensor:
    """Features (n, ...) from a centre that has as many numbers as one of them."""
    unit = of_length(features, 1.0)
    return of_length(unit - centre.view(features.shape[1:]))


def gathered(table: Tensor, numbers: Tensor, centre: Tensor) -> Tensor:
    """`centred` of some rows of a table, which may be in half precision, to the same bits.

    A few rows at a time: they stay in the cache while all is done to them.
    """
    flat = table.flatten(1)
    out = torch.empty(len(numbers), flat.shape[1], dtype=centre.dtype)
    for rows, some in zip(out.split(TOGETHER), numbers.split(TOGETHER), strict=True):
        rows.copy_(flat.index_select(0, some))
        rows.mul_((1.0 / rows.norm(dim=1).clamp(min=1e-12))[:, None]).sub_(centre)
        rows.mul_((LENGTH / rows.norm(dim=1).clamp(min=1e-12))[:, None])
    return out.view(-1, *table.shape[1:])


class Centred(nn.Module):
    """The same as a layer, so that a trained model takes features as they are."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(size))

    @classmethod
    def around(cls, centre: Tensor) -> Centred:
        """The layer of a centre (size,)."""
        made = cls(len(centre)).to(centre.dtype)
        made.get_buffer("centre").copy_(centre)
        return made

    def __repr__(self) -> str:
        return f"Centred({len(self.get_buffer('centre'))})"

    def forward(self, features: Tensor) -> Tensor:
        """What the next layer sees of features (n, ...)."""
        return centred(features, self.get_buffer("centre"))
