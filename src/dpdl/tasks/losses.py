"""Losses by name: the mean over a batch, of a model's outputs and the targets."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from dpdl.errors import unknown
from dpdl.objects import load_object

Loss = Callable[[Tensor, Tensor], Tensor]


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Of logits, for one class per record."""
    return nn.functional.cross_entropy(outputs, targets)


def binary_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Of logits, for several labels per record; the mean over labels."""
    return nn.functional.binary_cross_entropy_with_logits(outputs, targets)


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """For numbers; the mean over them."""
    return nn.functional.mse_loss(outputs, targets)


LOSSES: dict[str, Loss] = {
    "cross-entropy": cross_entropy,
    "binary-cross-entropy": binary_cross_entropy,
    "squared-error": squared_error,
}


def loss_of(name: str) -> Loss:
    """The loss of a name, or of the user's own `module:function`."""
    if ":" in name:
        own: Loss = load_object(name, "loss")
        return own
    if name not in LOSSES:
        raise unknown("loss", name, LOSSES, also="or your own module:function")
    return LOSSES[name]
