"""The model of these runs: few parameters, so that their files are small."""

from __future__ import annotations

from torch import nn


class Linear(nn.Sequential):
    """One linear layer for the 8 x 8 digits."""

    def __init__(self) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, 10))
