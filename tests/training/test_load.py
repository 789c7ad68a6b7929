"""A trained model comes back from its folder where no record is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

import dpdl
from dpdl.errors import InputError
from dpdl.folder.run_folder import RunFolder
from dpdl.tasks import data as datasets
from dpdl.tasks.data import Dataset
from tests.conftest import small_module
from tests.sites import write_sites, write_test
from tests.training.small import SMALL, train

OLD = Path(__file__).parents[1] / "folder" / "old"
DIGITS = {
    "dataset": "digits",
    "agents": 3,
    "rounds": 2,
    "batch": 8,
    "sigma": 1.0,
    "algorithm": "dp-dpsgd",
}


def accuracy(model: nn.Module, data: Dataset) -> float:
    right = model(data.x_test).argmax(1) == data.y_test
    return float(right.double().mean())


def test_the_average_and_the_model_of_an_agent_come_back(tmp_path: Path) -> None:
    result = dpdl.train(dpdl.Experiment(**DIGITS), out=tmp_path / "run")
    model = dpdl.load(tmp_path / "run")
    digits = datasets.load("digits")
    assert accuracy(model, digits) == pytest.approx(result.summary.score.average_model)
    for agent in (None, 0, 2):
        loaded = dpdl.load(str(tmp_path / "run"), agent=agent)
        expected = result.module(agent)
        assert not loaded.training and not expected.training
        assert torch.equal(loaded(digits.x_test), expected(digits.x_test))
        same = zip(loaded.module.parameters(), expected.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in same)


def test_averaged_rounds_are_what_comes_back(tmp_path: Path) -> None:
    experiment = dpdl.Experiment(**DIGITS, average=0.9)
    result = dpdl.train(experiment, out=tmp_path / "run")
    weight = dpdl.load(tmp_path / "run").module[1].weight
    assert torch.equal(weight, result.module()[1].weight)


def test_own_data_need_not_be_there(tmp_path: Path, monkeypatch) -> None:
    """Pixels of another shape in a file that is gone; features stand in for them."""
    import numpy as np

    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (90, 1, 16, 16)).astype(np.uint8)
    np.savez("mine.npz", x=x, y=np.arange(90) % 3)
    options = {**DIGITS, "dataset": "mine.npz", "model": "scatter-linear"}
    result = dpdl.train(dpdl.Experiment(**options), out="run")
    Path("mine.npz").unlink()
    model = dpdl.load("run")
    assert model.form.shape == (1, 16, 16)
    seen = result.plan.data.x_test.float()
    stored = torch.from_numpy(x)
    expected = result.module()(seen)
    rows = {tuple(row.tolist()) for row in model(stored).detach()}
    assert {tuple(row.tolist()) for row in expected.detach()} <= rows


def test_sites_need_not_be_there(tmp_path: Path) -> None:
    options = {
        **DIGITS,
        "agents": 5,
        "sites": write_sites(tmp_path),
        "test": write_test(tmp_path),
    }
    result = dpdl.train(dpdl.Experiment(**options), out=tmp_path / "run")
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    x = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(dpdl.load(tmp_path / "run")(x), result.module()(x))


# ------------------------------------------------------------------ modules of one's own
def test_a_module_that_was_given_must_be_given_again(blobs, tmp_path: Path) -> None:
    result = train(blobs, SMALL, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"a module of your own \(Sequential\)"):
        dpdl.load(tmp_path / "run")
    model = dpdl.load(tmp_path / "run", model=small_module(seed=9))
    x = blobs.x_test
    assert torch.equal(model(x), result.module()(x))
    with pytest.raises(InputError, match="parameters have other shapes"):
        dpdl.load(tmp_path / "run", model=nn.Linear(2, 3))


def test_folders_of_an_older_version_can_be_loaded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(OLD)
    model = dpdl.load("dpdl")
    summary = json.loads(Path("dpdl/summary.json").read_text())
    found = accuracy(model, datasets.load("digits"))
    assert found == pytest.approx(summary["accuracy"]["average_model"])


def test_an_old_folder_that_does_not_say_how_records_look_is_refused(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(OLD)
    shutil.copytree("dpdl", tmp_path / "run")
    path = tmp_path / "run" / "experiment.json"
    content = json.loads(path.read_text())
    content["experiment"]["dataset"] = "mine.npz"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="does not say how its records look"):
        dpdl.load(tmp_path / "run")


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize("agent", [-1, 3, 1.0, True, "0"])
def test_an_agent_that_there_is_not_is_refused(
    tmp_path: Path, agent: object, finished: Path
) -> None:
    with pytest.raises(InputError, match="agent must be a number from 0 to 2"):
        dpdl.load(finished, agent=agent)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    dpdl.train(dpdl.Experiment(**DIGITS), out=folder)
    return folder


def test_a_run_that_is_not_finished_is_refused(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    RunFolder(tmp_path / "run").summary_path.unlink()
    with pytest.raises(InputError, match="not finished, so it has no model yet"):
        dpdl.load(tmp_path / "run")


def test_a_folder_without_its_state_is_refused(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "state.safetensors").unlink()
    with pytest.raises(InputError, match="no checkpoint of round 2"):
        dpdl.load(tmp_path / "run")


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run"):
        dpdl.load(tmp_path)
