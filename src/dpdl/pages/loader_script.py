"""The script beside an exported model: it loads the model where dpdl is not installed."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from dpdl.folder import names
from dpdl.folder.form_facts import FormFacts

INDENT = " " * 12
LICENSE = "# Taken from dpdl, Apache License 2.0.\n"
ERROR = b"from dpdl.errors import InputError\n"
FeaturesName = Literal["scattering", "patches", "deep_patches"]
IMPORTS: Mapping[FeaturesName, Sequence[str]] = {
    "scattering": ["from scattering import GROUPS, Scattering, normalised"],
    "patches": ["from directions import of_length", "from patches import Patches"],
    "deep_patches": ["from deep_patches import DeepPatches"],
}
CLASSES: Mapping[FeaturesName, str] = {
    "scattering": "Scattering",
    "patches": "Patches",
    "deep_patches": "DeepPatches",
}
SEEN: Mapping[FeaturesName, str] = {
    "scattering": "normalised(self.features(x), GROUPS)",
    "patches": "of_length(self.features(x))",
    "deep_patches": "self.features(x)",
}
"""What the model sees: of pixels that were scaled for scattering, else of pixels as they are."""


@final
@dataclass(frozen=True)
class ExportedLayers:
    """What a script must make before it can read parameters into it."""

    form: FormFacts
    outputs: int
    dtype: str  # of the parameters
    features: FeaturesName | None  # in place of records; None: the model sees them
    calls: Sequence[str] | None  # of stock layers; None: a class of the user's own code
    model: str  # its name, or `module:Class`

    @property
    def centred(self) -> bool:
        """Whether the first layer takes features from their centre."""
        return self.calls is not None and self.calls[0].startswith("Centred(")

    @property
    def needs(self) -> tuple[str, ...]:
        """The modules that must be installed, or beside the script."""
        own = () if self.calls else (self.model.partition(":")[0],)
        return ("torch", "safetensors", *own)

    @property
    def unit(self) -> str:
        """The unit of a record."""
        return "uint8 pixels from 0 to 255" if self.form.pixels else "floating numbers"

    @property
    def shape(self) -> str:
        """The shape of records."""
        return f"(n, {', '.join(map(str, self.form.shape))})"


def loader_script(layers: ExportedLayers) -> str:
    """Python source with a class `Model` and a function `load`."""
    needs = " and ".join(layers.needs[:2])
    own = "" if layers.calls else f", and your own {layers.needs[2]}"
    lines = [
        f'"""Loads the model in this folder. Needs {needs}{own}; dpdl is not needed."""',
        "",
        "from pathlib import Path",
        "",
        "import torch",
        "from safetensors.torch import load_file",
        "from torch import nn",
        *_imports(layers),
        "",
        "",
        "class Model(nn.Module):",
        f'    """Takes {layers.shape} records, {layers.unit}; returns (n, {layers.outputs})."""',
        "",
        "    def __init__(self):",
        "        super().__init__()",
        *_made(layers),
        "",
        "    def forward(self, x):",
        *_checked(layers),
        *_prepared(layers),
        "        return self.layers(x)",
        "",
        "",
        "def load(path=Path(__file__).with_name(" + f'"{names.PARAMETERS}")):',
        '    """The trained model, in evaluation mode."""',
        "    model = Model()",
        "    model.layers.load_state_dict(load_file(path))",
        "    return model.eval()",
        "",
        "",
        'if __name__ == "__main__":',
        "    print(load())",
    ]
    return "\n".join(lines) + "\n"


def features_files(layers: ExportedLayers) -> dict[str, bytes]:
    """The fixed features, by the names of files: modules of our own, with another error."""
    if layers.features is None:
        return {}
    package = importlib.resources.files("dpdl.tasks")
    found = {}
    wanted = dict.fromkeys(names.FEATURES[layers.features])
    if layers.centred:
        wanted[names.DIRECTIONS] = None
    for name in wanted:
        content = (package / name).read_bytes()
        if name.endswith(".py"):
            content = content.replace(b"from dpdl.tasks.", b"from ")
            content = LICENSE.encode() + content.replace(
                ERROR, b"InputError = ValueError\n"
            )
        found[name] = content
    return found


def _imports(layers: ExportedLayers) -> list[str]:
    found = ["from directions import Centred"] if layers.centred else []
    found += IMPORTS[layers.features] if layers.features else []
    if layers.calls is None:
        home, _, name = layers.model.partition(":")
        found.append(f"from {home} import {name.partition('.')[0]}")
    return ["", *found] if found else []


def _made(layers: ExportedLayers) -> list[str]:
    dtype = f".to(torch.{layers.dtype})"
    found = []
    if layers.features:
        made = f"{CLASSES[layers.features]}({layers.form.shape})"
        found = [f"        self.features = {made}"]
    if layers.calls is None:
        name = layers.model.partition(":")[2]
        return [*found, f"        self.layers = {name}(){dtype}"]
    calls = [f"{INDENT}{call}," for call in layers.calls]
    return [
        *found,
        "        self.layers = nn.Sequential(",
        *calls,
        f"        ){dtype}",
    ]


def _checked(layers: ExportedLayers) -> list[str]:
    right = "x.dtype == torch.uint8" if layers.form.pixels else "x.is_floating_point()"
    return [
        f"        if not ({right} and tuple(x.shape[1:]) == {layers.form.shape}):",
        f'            raise ValueError("records must be {layers.shape}, {layers.unit}")',
    ]


def _prepared(layers: ExportedLayers) -> list[str]:
    """What training did to a record, bit by bit."""
    lines = []
    if layers.features in (None, "scattering"):
        lines = _scaled(layers, "float32" if layers.features else layers.dtype)
    if layers.features:
        lines += [
            f"        x = {SEEN[layers.features]}",
            f"        x = x.to(torch.float16).to(torch.{layers.dtype})",
        ]
    return lines


def _scaled(layers: ExportedLayers, first: str) -> list[str]:
    if layers.form.pixels:
        return [
            "        # (x / 255 - mean) / std",
            f"        mean = {_column(layers.form, layers.form.mean)}",
            f"        std = {_column(layers.form, layers.form.std)}",
            f"        scale, shift = (1 / (255 * std)).to(torch.{first}), mean / std",
            f"        x = x.to(torch.{first}) * scale - shift.to(torch.{first})",
        ]
    return [f"        x = x.to(torch.{first})"]


def _column(form: FormFacts, values: Sequence[float]) -> str:
    """One value for each channel, or one for all, as it meets a batch of records."""
    listed = ", ".join(map(repr, values))
    ones = ", 1" * (len(form.shape) - 1)
    return f"torch.tensor([{listed}], dtype=torch.float64).reshape(-1{ones})"
