"""What the README, the documentation and the example say is true."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import click
import pytest
import yaml

import dpdl
from dpdl import algorithms
from dpdl.algorithms import Named
from dpdl.cli import COMMANDS, cli
from dpdl.run.experiment import Experiment, load
from dpdl.run.presets import PRESETS

HOME = Path(__file__).parents[1]
DOCS = sorted((HOME / "docs").rglob("*.md"))
PAGES = [HOME / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")] + DOCS


def text(name: str) -> str:
    return (HOME / name).read_text("utf-8")


def code_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)


def table(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables with so many columns whose first cell is code."""
    lines = [line for line in text(page).splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    return [row for row in rows if len(row) == columns]


def module_from(path: Path, monkeypatch):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- what can be executed
def test_the_skeleton_of_an_algorithm_trains(monkeypatch, tmp_path):
    (skeleton,) = code_blocks("CONTRIBUTING.md")
    path = tmp_path / "cross_sgd.py"
    path.write_text(skeleton, "utf-8")
    kind = module_from(path, monkeypatch).CrossSGD
    monkeypatch.setitem(algorithms.NAMES, "cross-sgd", Named(kind, "D-PSGD with cross-gradients"))
    e = Experiment(dataset="digits", agents=4, algorithm="cross-sgd", rounds=12, lr=0.5, sigma=0.5, eval_every=12)
    first, last = dpdl.train(e).metrics
    assert last["train_loss"]["mean"] < 0.8 * first["train_loss"]["mean"]
    elsewhere = dpdl.train(e, placement="threads:2").metrics[-1]
    assert elsewhere["train_loss"] == last["train_loss"]


def test_the_example_learns(monkeypatch, capsys):
    module = module_from(HOME / "examples" / "own_model.py", monkeypatch)
    assert module.main() > 0.9
    assert "protects nobody" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_python_shown_runs(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(page)
    names: dict[str, object] = {"__name__": "shown"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert blocks


@pytest.mark.parametrize("path", sorted((HOME / "experiments").glob("*.toml")), ids=lambda p: p.name)
def test_experiment_files_are_valid(path):
    assert load(path, None, {}).resolved().algorithm == "dpdl"


def test_the_toml_shown_is_valid(tmp_path):
    blocks = re.findall(r"^```toml\n(.*?)^```", text("docs/experiments.md"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        path = tmp_path / "shown.toml"
        path.write_text(block, "utf-8")
        load(path, None, {})


# ---------------------------------------------------------------- what is listed
def test_the_command_table_lists_the_commands():
    names = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        inner = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
        names += [f"{name} {part}" for part in inner] or [name]
    shown = [
        re.match(r"`dpdl ([a-z ]+[a-z])", row[0])[1] for row in table("README.md", 2) if row[0].startswith("`dpdl")
    ]
    assert sorted(shown) == sorted(names)


def test_the_option_table_lists_the_options_with_their_usual_values():
    rows = {row[0].strip("`"): row[1].strip("`") for row in table("docs/experiments.md", 3)}
    assert list(rows) == [f.name for f in fields(Experiment)]
    for f in fields(Experiment):
        if f.default is not None:
            assert type(f.default)(rows[f.name]) == f.default, f.name


def test_presets_are_described():
    for name, options in PRESETS.items():
        assert f"`{name}`" in text("docs/experiments.md")
        for option in options:
            assert f"`{option}" in text("docs/algorithms/dpdl.md"), option


def test_every_page_is_in_the_navigation():
    def pages(part):
        if isinstance(part, str):
            return [part]
        return [page for item in (part.values() if isinstance(part, dict) else part) for page in pages(item)]

    listed = pages(yaml.safe_load(text("mkdocs.yml"))["nav"])
    assert sorted(listed) == sorted(page.relative_to(HOME / "docs").as_posix() for page in DOCS)


def test_dependencies_are_pinned_and_explained():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.match(r"[A-Za-z0-9-]+", line)[0] for line in wanted}
    pinned = dict(line.split("==") for line in text("constraints.txt").splitlines() if "==" in line)
    assert names <= set(pinned)
    explained = {row[0].strip("`") for row in table("docs/dependencies.md", 3)}
    assert explained == names


def test_the_changelog_knows_this_version():
    assert f"## [{dpdl.__version__}]" in text("CHANGELOG.md")


def test_make_help_lists_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)[1].split()
    assert phony == re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE)


# ---------------------------------------------------------------- what is pointed to
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(HOME).as_posix())
def test_links_and_named_files_exist(page):
    content = page.read_text("utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", content)
    named = re.findall(r"`((?:src|docs|tests|examples|experiments|\.ci)/[\w./-]+)`", content)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [name for name in named if not (HOME / name).exists()]
    assert not missing


def test_no_file_tells_where_or_how_it_was_written():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=HOME, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    forbidden = re.compile(
        r"/(work|root|home/\w+|Users/\w+)/"
        r"|\bassistant\b|\b(this|my|our|chat) session\b|\bissue #?\d|\(#\d+\)"
        r"|\b(pypi|pythonhosted|npmjs)\.(org|com)\b",
        re.IGNORECASE,
    )
    found = []
    for name in filter(None, listed.split("\0")):
        path = HOME / name
        if path == Path(__file__) or not path.is_file() or path.suffix in {".png", ".npz", ".npy"}:
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if match := forbidden.search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert not found
