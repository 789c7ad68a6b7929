"""A package of somebody else adds an algorithm with options of its own, which are as good as ours.

The package is built and installed by pip, into a folder that only these tests see. It also offers an
algorithm that cannot be imported, which must not disturb anybody, and one that inherits nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "blended"
version = "1.0"

[project.entry-points."dpdl.algorithms"]
blended = "blended:Blended"
broken = "blended_broken:Nothing"
plain = "blended:Plain"

[tool.setuptools]
py-modules = ["blended", "blended_broken"]
"""
MODULE = '''
from dataclasses import dataclass

from dpdl.algorithms.base import Info, Stepped, batch_info
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.options import SHARE, Range, option
from dpdl.privacy.releases import Release


@dataclass(frozen=True)
class Blended(Stepped):
    """Step, mix, and keep a share of what the agent had itself."""

    blend: float = option(
        0.75, "share of the mixed model", check=SHARE, search=Range(0.25, 1)
    )
    schedule: str = option(
        "constant", "how steps become smaller", names=("constant", "root")
    )
    rounds: int = 0

    disclosure = OwnGradients()

    def init(self, x):
        return {"x": x}

    def round(self, state, batches, net, grad, t):
        g, info = self.own_gradient(state["x"], batches, net, grad, t)
        assert t <= self.rounds
        eta = self.eta(t) / (t**0.5 if self.schedule == "root" else 1)
        stepped = state["x"] - eta * g
        mixed = net.mix("step", stepped)
        return {"x": self.blend * mixed + (1 - self.blend) * stepped}, info

    def releases(self, grad):
        bound = self.lr * grad.clip.sensitivity
        return (Release("step", True, "x - eta g", bound, grad.noise_multiplier),)


@dataclass(frozen=True)
class Plain:
    """It inherits nothing, and its fields say nothing about themselves."""

    lr: float
    seed: int
    twice: bool = False

    disclosure = OwnGradients()

    def init(self, x):
        return {"x": x}

    def round(self, state, batches, net, grad, t):
        x = state["x"]
        answers = grad.own(x, batches, net.selves, t)
        step = (2 if self.twice else 1) * self.lr * answers.private
        return {"x": net.mix("step", x - step)}, Info(batch_info(answers, net))

    def releases(self, grad):
        bound = self.lr * grad.clip.sensitivity
        return (Release("step", True, "x - eta g", bound, grad.noise_multiplier),)
'''
SMALL = ("--dataset", "digits", "--agents", "3", "--batch", "8", "--rounds", "3")
NOISE = ("--sigma", "1", "--quiet", "--json")
OWN = ("--algorithm", "blended", "--blend", "0.5", "--schedule", "root", "--lr", "0.2")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the package."""
    source = tmp_path_factory.mktemp("source")
    (source / "pyproject.toml").write_text(PROJECT, "utf-8")
    (source / "blended.py").write_text(MODULE, "utf-8")
    (source / "blended_broken.py").write_text("import not_there_at_all\n", "utf-8")
    place = tmp_path_factory.mktemp("site")
    words = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(place)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *words, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def python(site: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


def dpdl(site: Path, home: Path, *words: str) -> str:
    done = python(site, home, "-m", "dpdl", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(site: Path, home: Path, *words: str) -> str:
    """The sentence on standard error."""
    done = python(site, home, "-m", "dpdl", *words)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_it_trains_the_same_from_command_line_file_and_python(
    site: Path, tmp_path: Path
) -> None:
    dpdl(site, tmp_path, "run", *OWN, *SMALL, *NOISE, "--out", "line")
    written = json.loads((tmp_path / "line/experiment.json").read_text())["experiment"]
    assert (written["blend"], written["schedule"], written["lr"]) == (0.5, "root", 0.2)
    assert "correlation" not in written

    table = '[algorithm]\nname = "blended"\nblend = 0.5\nschedule = "root"\nlr = 0.2\n'
    (tmp_path / "e.toml").write_text(f"rounds = 3\n{table}", "utf-8")
    dpdl(site, tmp_path, "run", "e.toml", *SMALL, *NOISE, "--out", "file")

    code = (
        "import dpdl; from blended import Blended\n"
        "own = Blended(lr=0.2, blend=0.5, schedule='root')\n"
        "e = dpdl.Experiment(algorithm=own, dataset='digits', agents=3, batch=8,"
        " rounds=3, sigma=1.0)\n"
        "assert (e.algorithm, e.blend) == ('blended', 0.5)\n"
        "dpdl.train(e, out='object')\n"
    )
    done = python(site, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr

    def found(name: str) -> tuple[object, ...]:
        folder = tmp_path / name
        experiment = json.loads((folder / "experiment.json").read_text())["experiment"]
        summary = json.loads((folder / "summary.json").read_text())
        return experiment, summary["accuracy"], summary["train_loss"]

    assert found("line") == found("file") == found("object")
    dpdl(site, tmp_path, "privacy", "verify", "line")


def test_help_and_the_page_of_options_list_its_options(
    site: Path, tmp_path: Path
) -> None:
    every = " ".join(dpdl(site, tmp_path, "run", "--help").split())
    assert "--blend FLOAT blended: share of the mixed model [0.75]" in every
    assert "how steps become smaller (constant, root) [constant]" in every
    assert "broken" in every, "its name is offered though it cannot be imported"
    assert "--correlation" in every and "--rounds" in every
    only = dpdl(site, tmp_path, "run", "--algorithm", "blended", "--help")
    assert "--blend" in only and "--correlation" not in only
    done = python(site, tmp_path, "-m", "dpdl.report.options")
    assert done.returncode == 0, done.stderr
    row = "| `blend` | number | `0.75` | at least 0 and at most 1 | 0.25 to 1 |"
    assert row in done.stdout
    assert "### `broken`\n\nThe algorithm 'broken' cannot be imported" in done.stdout


def test_tune_draws_it_from_its_range(site: Path, tmp_path: Path) -> None:
    words = ("--over", "blend", "--trials", "3", "--out", "t", "--algorithm", "blended")
    result = json.loads(dpdl(site, tmp_path, "tune", *words, *SMALL, *NOISE))
    values = {trial["trial"]: trial["values"]["blend"] for trial in result["trials"]}
    assert values[0] == 0.75
    assert all(0.25 <= value <= 1 for value in values.values())
    assert len(set(values.values())) == 3
    best = tomllib.loads((tmp_path / "t/best.toml").read_text("utf-8"))
    assert (best["algorithm"], best["blend"]) == ("blended", result["best"]["blend"])


def test_compare_sets_it_for_one_algorithm(site: Path, tmp_path: Path) -> None:
    words = ("--algorithms", "blended,dp-dpsgd", "--set", "blended.blend=0.25")
    dpdl(site, tmp_path, "compare", *words, *SMALL, *NOISE, "--out", "c")
    asked = json.loads((tmp_path / "c/compare.json").read_text())["algorithms"]
    assert asked["blended"]["experiment"]["blend"] == 0.25
    assert "blend" not in asked["dp-dpsgd"]["experiment"]


def test_wrong_values_and_names_get_one_sentence(site: Path, tmp_path: Path) -> None:
    run = ("run", "--algorithm", "blended", *SMALL)
    words = "blend must be at least 0 and at most 1, not 2.0"
    assert words in refused(site, tmp_path, *run, "--blend", "2")
    words = "blend must be a number, not 'half'"
    assert words in refused(site, tmp_path, *run, "--blend", "half")
    words = "Unknown schedule 'rot'. Did you mean 'root'?"
    assert words in refused(site, tmp_path, *run, "--schedule", "rot")
    assert "--blend" in refused(site, tmp_path, *run, "--blnd", "1")
    words = "correlation is not an option of blended"
    assert words in refused(site, tmp_path, *run, "--correlation", "2")
    words = "blend is not an option of dpdl"
    assert words in refused(site, tmp_path, "run", *SMALL, "--blend", "1")
    (tmp_path / "e.toml").write_text('[algorithm]\nname = "blended"\nblnd = 1\n')
    assert "Did you mean 'blend'" in refused(site, tmp_path, "run", "e.toml")
    assert not (tmp_path / "runs").exists()


def test_what_cannot_be_imported_is_told_to_who_asks_for_it(
    site: Path, tmp_path: Path
) -> None:
    words = "cannot be imported from 'blended_broken:Nothing': ModuleNotFoundError"
    assert words in refused(site, tmp_path, "run", "--algorithm", "broken", *SMALL)
    assert words in refused(
        site, tmp_path, "compare", "--algorithms", "dpdl,broken", *SMALL
    )
    dpdl(site, tmp_path, "privacy", "sigma", "--epsilon", "5", "--rounds", "5")


def test_a_class_that_inherits_nothing_has_the_default_answers(
    site: Path, tmp_path: Path
) -> None:
    words = ("run", "--algorithm", "plain", *SMALL, *NOISE)
    summary = json.loads(dpdl(site, tmp_path, *words, "--twice", "yes", "--out", "p"))
    assert summary["epsilon"]["claimed_theorem1"] is None
    assert "Proven" in summary["privacy_statement"]
    written = json.loads((tmp_path / "p/experiment.json").read_text())["experiment"]
    assert (written["lr"], written["twice"]) == (0.1, True)
    assert "twice must be true or false" in refused(
        site, tmp_path, *words, "--twice", "2"
    )


def test_a_class_need_not_be_installed(site: Path, tmp_path: Path) -> None:
    mine = MODULE.replace("Blended", "Mine").replace("blend:", "power:")
    mine = mine.replace("self.blend", "self.power")
    (tmp_path / "mine.py").write_text(mine, "utf-8")
    words = ("run", *SMALL, *NOISE, "--power", "0.5", "--algorithm", "mine:Mine")
    summary = json.loads(dpdl(site, tmp_path, *words, "--out", "m"))
    assert summary["algorithm"] == "mine:Mine"
    (tmp_path / "e.toml").write_text('[algorithm]\nname = "mine:Mine"\npower = 0.5\n')
    again = ("run", "e.toml", *SMALL, *NOISE, "--power", "0.5", "--out", "f")
    assert json.loads(dpdl(site, tmp_path, *again))["accuracy"] == summary["accuracy"]
    dpdl(site, tmp_path, "resume", "m", "--rounds", "4", "--quiet", "--json")
    assert "cannot be imported" in refused(
        site, tmp_path, "run", "--algorithm", "nowhere:Mine"
    )
    assert "has no Yours" in refused(
        site, tmp_path, "run", "--algorithm", "mine:Yours", *SMALL
    )
    words = "The algorithm 'mine:option' must be a dataclass"
    assert words in refused(site, tmp_path, "run", "--algorithm", "mine:option", *SMALL)
