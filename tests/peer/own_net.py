"""A model of the members' own, which a manifest names and their sites allow."""

from __future__ import annotations

from torch import Tensor, nn


class Net(nn.Module):
    """Digits, linear."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The scores of ten classes."""
        return self.layer(x.flatten(1))
