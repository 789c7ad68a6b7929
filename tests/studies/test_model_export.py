"""An exported model gives the same outputs where neither dpdl nor data are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import dpdl
from dpdl.errors import InputError
from dpdl.studies.model_export import export_model

OPTIONS = {
    "agents": 3,
    "rounds": 2,
    "batch": 8,
    "sigma": 1.0,
    "algorithm": "dp-dpsgd",
    "graph": "ring",
}
MODELS = {
    "mlp": {"dtype": "float64"},
    "lenet": {},
    "cnn": {},
    "scatter-linear": {},
    "scatter-cnn": {},
    "patch-linear": {},
    "deep-patch-linear": {},
    "deep-patch-linear, centred": {
        "model": "deep-patch-linear",
        "algorithm": "concord",
        "centre": "private",
        "centre_noise": 3.0,
    },
}
ELSEWHERE = """
import sys
sys.modules["dpdl"] = None
from importlib import import_module
import torch
torch.set_num_threads(1)  # as in these tests: more threads may change the last bits
from safetensors.torch import load_file, save_file
records = load_file("records.safetensors")["x"]
found = {}
for name in sys.argv[1:]:
    sys.path.insert(0, name)
    model = import_module("load_model").load()
    assert not model.training
    found[name] = model(records).detach()
    sys.path.remove(name)
    for module in ("load_model", "scattering", "patches", "deep_patches", "directions"):
        sys.modules.pop(module, None)
save_file(found, "outputs.safetensors")
assert not [name for name in sys.modules if name.startswith("dpdl.")]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of every named model on the pixels of a file, which is gone afterwards."""
    home = tmp_path_factory.mktemp("home")
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (90, 3, 20, 20)).astype(np.uint8)
    np.savez(home / "mine.npz", x=x, y=np.arange(90) % 3)
    for model, more in MODELS.items():
        file = str(home / "mine.npz")
        options = {"model": model, **OPTIONS, **more, "dataset": file}
        dpdl.train(dpdl.Experiment(**options), out=home / "runs" / model)
    (home / "mine.npz").unlink()
    save_file({"x": torch.from_numpy(x[:7])}, home / "records.safetensors")
    return home


def test_the_same_outputs_without_dpdl_and_without_data(home: Path) -> None:
    for model in MODELS:
        made = export_model(home / "runs" / model, home / model)
        assert made.needs == ("torch", "safetensors")
        kept = {"model.safetensors", "README.md", "load_model.py"}
        kept |= {"scattering.py"} if "scatter" in model else set()
        if "patch" in model:
            kept |= {"patches.py", "patches.npz", "directions.py"}
        if "deep" in model:
            kept |= {"deep_patches.py", "deep_patches.npz"}
        assert {path.name for path in (home / model).iterdir()} == kept
    hidden = {"HOME": "/nonexistent", "DPDL_DATA": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *MODELS],
        cwd=home,
        env={**os.environ, **hidden, "PYTHONPATH": "", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    records = load_file(home / "records.safetensors")["x"]
    found = load_file(home / "outputs.safetensors")
    for model in MODELS:
        expected = dpdl.load(home / "runs" / model)(records).detach()
        assert torch.equal(found[model], expected), model


def test_a_class_of_ones_own_is_named_not_copied(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("my_nets.py").write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(64, 10)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x.flatten(1))\n"
    )
    options = {**OPTIONS, "dataset": "digits", "model": "my_nets:Net"}
    dpdl.train(dpdl.Experiment(**options), out="run")
    made = export_model(Path("run"))
    assert made.folder == "run/model"
    assert made.needs == ("torch", "safetensors", "my_nets")
    monkeypatch.syspath_prepend(str(tmp_path / "run" / "model"))
    import load_model  # type: ignore[import-not-found]

    x = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(load_model.load()(x), dpdl.load("run")(x))
    monkeypatch.delitem(sys.modules, "load_model")
    monkeypatch.delitem(sys.modules, "my_nets")


def test_the_model_of_one_agent_is_exported(home: Path, tmp_path: Path) -> None:
    run = home / "runs" / "mlp"
    made = export_model(run, tmp_path / "second", agent=1)
    assert made.agent == 1
    found = load_file(tmp_path / "second" / "model.safetensors")
    for name, of in dpdl.load(run, agent=1).module.state_dict().items():
        assert torch.equal(found[name], of)
    assert "the model of agent 1" in (tmp_path / "second" / "README.md").read_text()


def test_exporting_again_replaces_what_was_written(home: Path, tmp_path: Path) -> None:
    run, out = home / "runs" / "mlp", tmp_path / "model"
    export_model(run, out, agent=0)
    (out / "notes.txt").write_text("mine")
    before = (out / "model.safetensors").read_bytes()
    export_model(run, out)
    assert (out / "model.safetensors").read_bytes() != before
    assert (out / "notes.txt").read_text() == "mine"


def test_a_run_that_is_not_finished_writes_nothing(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "runs" / "mlp", tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    with pytest.raises(InputError, match="not finished"):
        export_model(tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


def test_a_place_that_cannot_be_written_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export_model(home / "runs" / "mlp", tmp_path / "file")
