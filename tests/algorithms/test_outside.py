"""A package outside the repository adds an algorithm with options of its own, which are as good as ours.

pip builds and installs the package into a folder that only these tests see. It also offers an
algorithm that cannot be imported, which must not disturb the others, and one that inherits nothing.
One run is in a process of its own, which knows only what is installed; the other commands are called
here, after the same installation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpdl as package
from dpdl import algorithms
from dpdl.algorithms import outside
from dpdl.experiment.experiment import load
from dpdl.pages.options import page
from dpdl.studies import search
from tests.commands import dpdl as command

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
MODULES = ("blended", "blended_broken", "mine")


def install(source: Path, place: Path) -> None:
    """By pip, as a user would, but without an index."""
    source.mkdir()
    (source / "pyproject.toml").write_text(PROJECT, "utf-8")
    (source / "blended.py").write_text(MODULE, "utf-8")
    (source / "blended_broken.py").write_text("import not_there_at_all\n", "utf-8")
    words = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(place)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *words, str(source)],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},  # pip's are not ours to mend
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the package is installed; this process and its children find it there."""
    home = tmp_path_factory.mktemp("outside")
    place = home / "site"
    install(home / "source", place)
    ours = str(Path(package.__file__).parents[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(place), ours]))
        patch.setenv("COLUMNS", "120")
        patch.delenv("RANK", raising=False)
        patch.setattr(sys, "path", [str(place), *sys.path])
        outside.offered.cache_clear()
        yield place
    outside.offered.cache_clear()
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def dpdl(site: Path, tmp_path: Path, monkeypatch, capsys):
    """Standard output of a command that is called in an empty folder and succeeds."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        code, out, err = command(monkeypatch, capsys, *words)
        assert code == 0, err
        return out

    return call


@pytest.fixture
def refused(site: Path, tmp_path: Path, monkeypatch, capsys):
    """The one sentence on standard error of a command that is refused."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        code, out, err = command(monkeypatch, capsys, *words)
        assert (code, out) == (2, ""), out
        assert err.startswith("error: ") and err.count("\n") == 1
        return err

    return call


def found(folder: Path) -> tuple[object, ...]:
    """What must be the same, however a run was described."""
    experiment = json.loads((folder / "experiment.json").read_text())["experiment"]
    summary = json.loads((folder / "summary.json").read_text())
    return experiment, summary["accuracy"], summary["train_loss"]


def test_it_trains_the_same_from_command_line_file_and_python(
    site: Path, tmp_path: Path, dpdl
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpdl", "run", *OWN, *SMALL, *NOISE, "--out", "line"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "line/experiment.json").read_text())["experiment"]
    assert (written["blend"], written["schedule"], written["lr"]) == (0.5, "root", 0.2)
    assert "correlation" not in written

    own = 'blend = 0.5\nschedule = "root"\nlr = 0.2\n'
    (tmp_path / "table.toml").write_text(f'[algorithm]\nname = "blended"\n{own}')
    dpdl("run", "table.toml", *SMALL, *NOISE, "--out", "table")
    (tmp_path / "flat.toml").write_text(f'algorithm = "blended"\n{own}')
    flat = load(tmp_path / "flat.toml", None, {})
    assert flat == load(tmp_path / "table.toml", None, {})

    from blended import Blended

    blended = Blended(lr=0.2, blend=0.5, schedule="root")
    small = {"dataset": "digits", "agents": 3, "batch": 8, "rounds": 3, "sigma": 1.0}
    e = package.Experiment(algorithm=blended, **small)
    assert (e.algorithm, e.blend) == ("blended", 0.5)
    by_name = {"blend": 0.5, "schedule": "root", "lr": 0.2}
    assert e.resolved() == (
        package.Experiment(algorithm="blended", **by_name, **small).resolved()
    )
    package.train(e, out=tmp_path / "object")

    line = found(tmp_path / "line")
    assert line == found(tmp_path / "table") == found(tmp_path / "object")
    dpdl("privacy", "verify", "line")


@pytest.mark.parametrize(
    "verb", ["run", "compare", "tune", "audit", "privacy sigma", "privacy epsilon"]
)
def test_help_lists_its_options(verb: str, dpdl) -> None:
    words = verb.split()
    every = " ".join(dpdl(*words, "--help").split())
    assert "--blend FLOAT blended: share of the mixed model [0.75]" in every
    assert "how steps become smaller (constant, root) [constant]" in every
    assert "--correlation" in every
    if verb == "run":
        assert "broken" in every, "its name is offered though it cannot be imported"
    flag = "--algorithms" if verb == "compare" else "--algorithm"
    only = dpdl(*words, flag, "blended", "--help")
    assert "--blend" in only and "--correlation" not in only


def test_its_noise_is_planned_and_its_options_are_checked(dpdl, refused) -> None:
    plan = ("privacy", "sigma", "--algorithm", "blended", "--epsilon", "5")
    small = ("--records", "500", "--batch", "8", "--rounds", "5", "--json")
    found = json.loads(dpdl(*plan, *small, "--blend", "0.5"))
    own = json.loads(dpdl(*plan[:3], "dp-dpsgd", *plan[4:], *small))
    assert found["sigma"]["eavesdropper"] == own["sigma"]["eavesdropper"]
    assert "blend must be at least 0" in refused(*plan, "--blend", "-1")


def test_the_page_of_options_lists_its_options(site: Path) -> None:
    text = page(algorithms.names())
    row = "| `blend` | number | `0.75` | at least 0 and at most 1 | 0.25 to 1 |"
    assert row in text
    assert "### `broken`\n\nThe algorithm 'broken' cannot be imported" in text


def test_tune_draws_it_from_its_range(tmp_path: Path, dpdl) -> None:
    words = ("--over", "blend", "--trials", "2", "--out", "t", "--algorithm", "blended")
    result = json.loads(dpdl("tune", *words, *SMALL, *NOISE))
    values = {trial["trial"]: trial["values"]["blend"] for trial in result["trials"]}
    assert values[0] == 0.75
    assert 0.25 <= values[1] <= 1 and values[1] != 0.75
    best = tomllib.loads((tmp_path / "t/best.toml").read_text("utf-8"))
    assert (best["algorithm"], best["blend"]) == ("blended", result["best"]["blend"])


def test_its_range_may_be_narrowed(site: Path, refused) -> None:
    e = package.Experiment(algorithm="blended", dataset="digits", agents=3)
    wide = search.make_search(e, "blend", 40)
    drawn = [wide.values(k)["blend"] for k in range(1, 40)]
    assert min(drawn) < 0.4 and max(drawn) > 0.85 and len(set(drawn)) == 39
    assert all(0.25 <= one <= 1 for one in drawn)
    narrow = search.make_search(e, "blend", 40, ranges=["blend=0.3:0.4"])
    assert all(0.3 <= narrow.values(k)["blend"] <= 0.4 for k in range(1, 40))
    tune = ("tune", "--algorithm", "blended", *SMALL, "--over")
    assert "schedule" in refused(*tune, "schedule")
    words = "low must be below high"
    assert words in refused(*tune, "blend", "--range", "blend=0.5:0.3")


def test_compare_sets_it_for_one_algorithm(tmp_path: Path, dpdl) -> None:
    words = ("--algorithms", "blended,dp-dpsgd", "--set", "blended.blend=0.25")
    dpdl("compare", *words, *SMALL, *NOISE, "--out", "c")
    cells = json.loads((tmp_path / "c/compare.json").read_text())["algorithms"]
    assert cells["blended"]["experiment"]["blend"] == 0.25
    assert "blend" not in cells["dp-dpsgd"]["experiment"]


def test_wrong_values_and_names_get_one_sentence(tmp_path: Path, refused) -> None:
    run = ("run", "--algorithm", "blended", *SMALL)
    words = "blend must be at least 0 and at most 1, not 2.0"
    assert words in refused(*run, "--blend", "2")
    assert "blend must be a number, not 'half'" in refused(*run, "--blend", "half")
    words = "Unknown schedule 'rot'. Did you mean 'root'?"
    assert words in refused(*run, "--schedule", "rot")
    assert "--blend" in refused(*run, "--blnd", "1")
    words = "correlation is not an option of blended"
    assert words in refused(*run, "--correlation", "2")
    assert "blend is not an option of dpdl" in refused("run", *SMALL, "--blend", "1")
    (tmp_path / "e.toml").write_text('[algorithm]\nname = "blended"\nblnd = 1\n')
    assert "Did you mean 'blend'" in refused("run", "e.toml")
    assert not (tmp_path / "runs").exists()


def test_what_cannot_be_imported_is_an_error_where_it_is_chosen(dpdl, refused) -> None:
    words = "cannot be imported from 'blended_broken:Nothing': ModuleNotFoundError"
    assert words in refused("run", "--algorithm", "broken", *SMALL)
    assert words in refused("compare", "--algorithms", "dpdl,broken", *SMALL)
    dpdl("privacy", "sigma", "--epsilon", "5", "--rounds", "5")


def test_a_class_that_inherits_nothing_has_the_default_answers(
    tmp_path: Path, dpdl, refused
) -> None:
    words = ("run", "--algorithm", "plain", *SMALL, *NOISE)
    summary = json.loads(dpdl(*words, "--twice", "yes", "--out", "p"))
    assert summary["epsilon"]["claimed_theorem1"] is None
    assert "Proven" in summary["privacy_statement"]
    written = json.loads((tmp_path / "p/experiment.json").read_text())["experiment"]
    assert (written["lr"], written["twice"]) == (0.1, True)
    assert "twice must be true or false" in refused(*words, "--twice", "2")


def test_a_class_need_not_be_installed(tmp_path: Path, dpdl, refused) -> None:
    mine = MODULE.replace("Blended", "Mine").replace("blend:", "power:")
    mine = mine.replace("self.blend", "self.power")
    (tmp_path / "mine.py").write_text(mine, "utf-8")
    words = ("run", *SMALL, *NOISE, "--power", "0.5", "--algorithm", "mine:Mine")
    summary = json.loads(dpdl(*words, "--out", "m"))
    assert summary["algorithm"] == "mine:Mine"
    (tmp_path / "e.toml").write_text('[algorithm]\nname = "mine:Mine"\npower = 0.5\n')
    again = ("run", "e.toml", *SMALL, *NOISE, "--power", "0.5", "--out", "f")
    assert json.loads(dpdl(*again))["accuracy"] == summary["accuracy"]
    dpdl("resume", "m", "--rounds", "4", "--quiet", "--json")
    run = ("run", *SMALL, "--algorithm")
    assert "cannot be imported" in refused(*run, "nowhere:Mine")
    assert "has no Yours" in refused(*run, "mine:Yours")
    words = "The algorithm 'mine:option' must be a dataclass"
    assert words in refused(*run, "mine:option")
