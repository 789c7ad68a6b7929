"""Models by name: those of the paper, a small one for small data, and some for features."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from dpdl.errors import InputError, unknown
from dpdl.keys import digest
from dpdl.objects import load_object

Shape = tuple[int, ...]

ON_SCATTERING = ("scatter-linear", "scatter-cnn")
ON_FEATURES = (*ON_SCATTERING, "patch-linear", "deep-patch-linear")
"""The models that take features of images in place of pixels."""
LINEAR = ("deep-patch-linear", "patch-linear", "scatter-linear")
"""Those on fixed features that can have a centre."""
_SEEDING = threading.RLock()
"""Parameters are drawn from torch's seed, which all threads share: one is built after the other."""


def lenet(shape: Shape, classes: int) -> nn.Module:
    """Convolutions 6@5x5 and 16@5x5, each with ReLU and 2x2 max-pool, then 120-84-classes.

    44,426 parameters on 1 x 28 x 28 images with 10 classes, as in the paper.
    """
    channels, height, width = _image(shape, "lenet", least=16)
    side = [(size - 4) // 2 for size in (height, width)]
    side = [(size - 4) // 2 for size in side]
    return nn.Sequential(
        *(nn.Conv2d(channels, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(16 * side[0] * side[1], 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes)),
    )


def cnn(shape: Shape, classes: int) -> nn.Module:
    """Convolutions 16@3x3 and 32@3x3 (padding 1), each with ReLU and 2x2 max-pool, then 512 units.

    The units have dropout 0.4, and a linear layer makes one output per class of them.
    1,059,306 parameters on 3 x 32 x 32 images with 10 classes, the paper's model for CIFAR-10.
    """
    channels, height, width = _image(shape, "cnn", least=4)
    return nn.Sequential(
        *(nn.Conv2d(channels, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * (height // 4) * (width // 4), 512), nn.ReLU()),
        *(nn.Dropout(0.4), nn.Linear(512, classes)),
    )


def mlp(shape: Shape, classes: int) -> nn.Module:
    """One hidden layer of 64 units; takes inputs of any shape."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), 64), nn.ReLU(), nn.Linear(64, classes)
    )


def linear(shape: Shape, classes: int) -> nn.Module:
    """One linear layer that starts at zero: its loss is convex, so no other start is better."""
    layer = nn.Linear(math.prod(shape), classes)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layer)


def scatter_cnn(shape: Shape, classes: int) -> nn.Module:
    """Convolutions 16@3x3 and 32@3x3 (padding 1), each with tanh, then one linear layer.

    2x2 average-pool is between the convolutions. On the features of 28 x 28 images (81 x 7 x 7)
    with 10 classes it has 19,210 parameters, on those of 3 x 32 x 32 images (243 x 8 x 8) 44,778:
    few, because noise grows with their number. tanh keeps the units bounded, and with them the
    gradients that are clipped (Papernot et al., "Tempered sigmoid activations for deep learning
    with differential privacy", 2021).
    """
    channels, height, width = _image(shape, "scatter-cnn", least=2)
    return nn.Sequential(
        *(nn.Conv2d(channels, 16, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.Tanh()),
        *(nn.Flatten(), nn.Linear(32 * (height // 2) * (width // 2), classes)),
    )


@dataclass(frozen=True)
class NamedModel:
    """A model that has a name; `make` takes the shape of an input and the number of outputs."""

    make: Callable[[Shape, int], nn.Module]
    about: str


NAMES = {
    "lenet": NamedModel(lenet, "the paper's model for MNIST"),
    "cnn": NamedModel(cnn, "the paper's model for CIFAR-10"),
    "mlp": NamedModel(mlp, "one hidden layer of 64 units, any input"),
    "scatter-linear": NamedModel(
        linear, "a linear layer on wavelet scattering features of the images"
    ),
    "scatter-cnn": NamedModel(
        scatter_cnn, "a small convolutional network on the same features"
    ),
    "patch-linear": NamedModel(
        linear, "a linear layer on answers of colour images to whitened patches"
    ),
    "deep-patch-linear": NamedModel(
        linear, "a linear layer on these answers and those of a second layer"
    ),
}


def build(name: str, shape: Shape, classes: int, seed: int) -> nn.Module:
    """The module of this name, or the user's own `module:Class`, called without arguments.

    The seed decides its initial parameters.
    """
    if ":" in name:
        make = load_object(name, "model")
    elif name in NAMES:
        chosen = NAMES[name].make

        def make() -> nn.Module:
            return chosen(shape, classes)
    else:
        raise unknown("model", name, NAMES, also="or your own as module:Class")
    return made_by(make, f"Model {name!r}", seed)


def made_by(make: Callable[[], nn.Module], which: str, seed: int) -> nn.Module:
    """The module that a class or a function gives without arguments; `which` names it in errors.

    The seed decides its initial parameters.
    """
    with _SEEDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(digest(seed, "init") % 2**63)
        try:
            module = make()
        except InputError:
            raise
        except Exception as failure:
            raise InputError(
                f"{which} cannot be built without arguments: {failure}."
            ) from failure
    if not isinstance(module, nn.Module):
        raise InputError(
            f"{which} must give a torch.nn.Module, not {type(module).__name__}."
        )
    return module


def _image(shape: Shape, name: str, least: int) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape[1:]) < least:
        raise InputError(
            f"Model {name!r} needs images (channels, height, width) of at least {least} x {least} "
            f"pixels, but the data has shape {shape}; use --model mlp or your own module:Class."
        )
    channels, height, width = shape
    return channels, height, width
