"""Stock torch layers as Python source: a model that can be built where dpdl is not installed."""

from __future__ import annotations

from torch import nn

from dpdl.tasks.directions import Centred

STOCK = (
    nn.AvgPool2d,
    nn.Conv2d,
    nn.Dropout,
    nn.Flatten,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.Linear,
    nn.MaxPool2d,
    nn.ReLU,
    nn.Tanh,
)
"""The layers whose `repr` is a call that makes them again."""


def layer_source(module: nn.Module) -> list[str] | None:
    """The calls that make the layers of a plain `nn.Sequential`, in order.

    None for any other module, and for one with a layer that is neither stock nor our own `Centred`,
    or that is made another way than it says.
    """
    if type(module) is not nn.Sequential:
        return None
    calls = [
        f"nn.{part!r}" if type(part) in STOCK else repr(part)
        for part in module
        if type(part) in (*STOCK, Centred)
    ]
    if len(calls) < len(module):
        return None
    known = {"nn": nn, "Centred": Centred}
    made = nn.Sequential(*(eval(call, known) for call in calls))
    return calls if _shapes(made) == _shapes(module) else None


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(of.shape) for name, of in module.state_dict().items()}
