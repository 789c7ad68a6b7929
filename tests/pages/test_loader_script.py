"""The script of an exported model says what it takes, and is Python that runs."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from dpdl.folder.form_facts import FormFacts
from dpdl.pages.loader_script import (
    ExportedLayers,
    features_files,
    loader_script,
)
from dpdl.tasks.features import DeepPatched, Features, Patched
from dpdl.tasks.scattering import Scattering

PIXELS = FormFacts((3, 4, 4), "uint8", (0.5, 0.4, 0.3), (0.1, 0.2, 0.3), "2 classes")
LAYERS = ExportedLayers(
    form=PIXELS,
    outputs=2,
    dtype="float32",
    features=None,
    calls=["nn.Flatten()", "nn.Linear(48, 2)"],
    model="mlp",
)


def executed(layers: ExportedLayers) -> dict:
    names = {"__name__": "load_model", "__file__": "load_model.py"}
    exec(compile(loader_script(layers), "load_model.py", "exec"), names)
    return names


def test_pixels_are_scaled_by_channel() -> None:
    model = executed(LAYERS)["Model"]()
    seen = []
    model.layers = nn.Module()
    model.layers.forward = lambda x: seen.append(x)
    pixels = torch.arange(96).view(2, 3, 4, 4).to(torch.uint8)
    model(pixels)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (PIXELS.mean, PIXELS.std))
    torch.testing.assert_close(seen[0], (pixels / 255 - mean) / std)


@pytest.mark.parametrize(
    "records", [torch.zeros(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.uint8)]
)
def test_another_unit_or_shape_is_refused(records: torch.Tensor) -> None:
    model = executed(LAYERS)["Model"]()
    with pytest.raises(ValueError, match="uint8 pixels from 0 to 255"):
        model(records)


def test_numbers_are_used_as_they_are_in_the_type_of_the_model() -> None:
    form = FormFacts((8,), "float32", (0.0,), (1.0,), "2 numbers")
    calls = ["nn.Linear(8, 2)"]
    layers = replace(LAYERS, form=form, dtype="float64", calls=calls)
    model = executed(layers)["Model"]()
    x = torch.randn(3, 8)
    assert torch.equal(model(x), model.layers(x.double()))


def test_flat_pixels_have_one_scale_or_one_each() -> None:
    form = FormFacts((2,), "uint8", (0.5, 0.0), (1.0, 0.5), "2 classes")
    model = executed(replace(LAYERS, form=form, calls=["nn.Identity()"]))["Model"]()
    found = model(torch.tensor([[255, 0], [0, 255]], dtype=torch.uint8))
    torch.testing.assert_close(found, torch.tensor([[0.5, 0.0], [-0.5, 2.0]]))


def test_a_class_of_ones_own_is_imported() -> None:
    layers = replace(LAYERS, calls=None, model="mine.nets:Net.Inner")
    script = loader_script(layers)
    assert "from mine.nets import Net\n" in script
    assert "self.layers = Net.Inner().to(torch.float32)" in script
    assert layers.needs == ("torch", "safetensors", "mine.nets")
    assert "and your own mine.nets" in script


def test_the_features_need_torch_alone(tmp_path, monkeypatch) -> None:
    (source,) = features_files(replace(LAYERS, features="scattering")).values()
    (tmp_path / "scattering_copied.py").write_bytes(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert b"dpdl." not in source
    import scattering_copied  # type: ignore[import-not-found]

    x = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    copied = scattering_copied.Scattering((1, 8, 8))(x)
    assert torch.equal(copied, Scattering((1, 8, 8))(x))
    monkeypatch.delitem(sys.modules, "scattering_copied")


@pytest.mark.parametrize(("kind", "numbers"), [(Patched, 8192), (DeepPatched, 16384)])
def test_patches_need_torch_and_their_filters_alone(
    tmp_path, monkeypatch, kind: type[Features], numbers: int
) -> None:
    found = features_files(replace(LAYERS, features=kind.kind))
    second = {"deep_patches.py", "deep_patches.npz"} if kind is DeepPatched else set()
    assert set(found) == {"patches.py", "patches.npz", "directions.py"} | second
    for name in {name for name in found if name.endswith("patches.py")}:
        assert b"import dpdl" not in found[name] and b"from dpdl." not in found[name]
    assert b"dpdl" not in found["directions.py"].replace(b"Taken from dpdl", b"")
    for name, content in found.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    form = FormFacts((3, 20, 20), "uint8", (0.5,), (0.1,), "2 classes")
    calls = ["nn.Flatten()", f"nn.Linear({numbers}, 2)"]
    layers = replace(LAYERS, form=form, features=kind.kind, calls=calls)
    model = executed(layers)["Model"]()
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (2, 3, 20, 20), generator=draw, dtype=torch.uint8)
    ours = kind(form.form()).of(x).float()
    assert torch.equal(model(x), model.layers(ours))
    for name in (one.removesuffix(".py") for one in found if one.endswith(".py")):
        monkeypatch.delitem(sys.modules, name)
