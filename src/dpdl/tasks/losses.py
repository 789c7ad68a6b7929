"""Losses by name: functions of a model's outputs and the targets that return the batch's mean."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from dpdl.errors import unknown
from dpdl.objects import load_object

Loss = Callable[[Tensor, Tensor], Tensor]


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of logits, for one class per record."""
    return nn.functional.cross_entropy(outputs, targets)


def binary_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of every label's logit, for several labels per record; their mean."""
    return nn.functional.binary_cross_entropy_with_logits(outputs, targets)


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared difference of numbers; their mean."""
    return nn.functional.mse_loss(outputs, targets)


LOSSES: dict[str, Loss] = {
    "cross-entropy": cross_entropy,
    "binary-cross-entropy": binary_cross_entropy,
    "squared-error": squared_error,
}


def loss_of(name: str) -> Loss:
    """The loss of this name, or the user's own `module:function`."""
    if ":" in name:
        own: Loss = load_object(name, "loss")
        return own
    if name not in LOSSES:
        raise unknown("loss", name, LOSSES, also="or your own module:function")
    return LOSSES[name]
