"""Dropout whose mask is addressed by a key, like all randomness here.

`nn.Dropout` draws from one global generator, so its masks depend on what ran before and in which
thread. Here the mask of a sample is a hash of its key and the unit's number: the same on every
placement and in a resumed run.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn


@final
class KeyedDropout(nn.Module):
    """Keeps a unit with probability 1 - p and scales it by 1 / (1 - p); each sample has a `key`."""

    key: Tensor

    def __init__(self, p: float, number: int) -> None:
        super().__init__()
        self.p = p
        # A hash, so that layer l and key k never draw the mask of layer l + 1 and key k - 1.
        self._layer = _hash(torch.tensor(number))
        self.register_buffer("key", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        """The identity outside training."""
        if not self.training or self.p == 0:
            return x
        return x * self.keeps(self.key, x.numel()).view(x.shape) / (1 - self.p)

    def keeps(self, key: Tensor, units: int) -> Tensor:
        """Which units are kept, for one key or for many: (..., units)."""
        start = _hash(key + self._layer).unsqueeze(-1)
        drawn = _hash(start + torch.arange(units, dtype=torch.int64))
        return drawn >= int(self.p * 2**31)


def key_dropout(module: nn.Module) -> nn.Module:
    """Replace every `nn.Dropout` by a keyed one."""
    number = 0

    def replace(parent: nn.Module) -> nn.Module:
        nonlocal number
        if type(parent) is nn.Dropout:
            number += 1
            return KeyedDropout(parent.p, number)
        for name, child in parent.named_children():
            setattr(parent, name, replace(child))
        return parent

    return replace(module)


def _hash(value: Tensor) -> Tensor:
    """31 well-mixed bits of an integer: the finaliser of splitmix64, cut to its low bits."""
    value = (value ^ (value >> 30)) * -0x40A7B892E31B1A47
    value = (value ^ (value >> 27)) * -0x6B2FB644ECCEEE15
    return (value ^ (value >> 31)) & 0x7FFFFFFF
