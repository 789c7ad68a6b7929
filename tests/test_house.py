"""What the README, the documentation and the example say is true."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

import dpdl
from dpdl import algorithms
from dpdl.cli import COMMANDS, cli
from dpdl.cli.demo_show import show
from dpdl.experiment.experiment import load
from dpdl.experiment.options import options_of
from dpdl.experiment.presets import PRESETS
from dpdl.experiment.shared import SHARED
from dpdl.folder.demo_facts import DemoFacts
from dpdl.folder.files import read_record
from dpdl.folder.run_folder import RunFolder
from dpdl.options import checked
from dpdl.pages import options as options_page
from dpdl.studies.demo.script import story_of
from tests.commands import dpdl_with
from tests.documents import HOME, code_blocks, install_skeleton, table, text

DOCS = sorted((HOME / "docs").rglob("*.md"))
PAGES = [
    HOME / name
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
] + DOCS


def module_from(path: Path, monkeypatch):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- what can be executed
def test_the_skeleton_of_an_algorithm_trains(tmp_path, monkeypatch):
    """By its name where it is installed, and as an object, on another placement."""
    install_skeleton(tmp_path)
    words = ["--algorithm", "cross-sgd", "--dataset", "digits", "--agents", "4"]
    words += ["--rounds", "12", "--lr", "0.5", "--sigma", "0.5", "--eval-every", "12"]
    words += ["--placement", "threads:2", "--quiet", "--out", "run"]
    done = dpdl_with(tmp_path, "run", *words)
    assert done.returncode == 0, done.stderr
    losses = [m["train_loss"] for m in RunFolder(tmp_path / "run").metrics()]
    module = module_from(tmp_path / "cross_sgd.py", monkeypatch)
    shared = {"dataset": "digits", "agents": 4, "rounds": 12, "eval_every": 12}
    chosen = dpdl.Experiment(algorithm=module.CrossSGD(lr=0.5), sigma=0.5, **shared)
    alone = dpdl.train(chosen)
    assert [m["train_loss"] for m in alone.metrics] == losses
    first, last = losses
    assert last["mean"] < 0.8 * first["mean"]


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


@pytest.mark.parametrize(
    "path", sorted((HOME / "experiments").glob("*.toml")), ids=lambda p: p.name
)
def test_experiment_files_are_valid(path):
    assert load(path, None, {}).resolved().algorithm == "dpdl"


def test_the_toml_shown_is_valid(tmp_path):
    blocks = re.findall(
        r"^```toml\n(.*?)^```", text("docs/experiments.md"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for block in blocks:
        path = tmp_path / "shown.toml"
        path.write_text(block, "utf-8")
        load(path, None, {})


# ---------------------------------------------------------------- what is told
@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_story_is_the_one_that_was_told(page, monkeypatch, capsys):
    """The table is what `dpdl demo` shows of the run whose numbers are kept."""
    monkeypatch.setenv("COLUMNS", "80")
    show(read_record(DemoFacts, HOME / "results" / "demo" / "mnist.json"))
    shown, _ = capsys.readouterr().out.split("\n\n", 1)
    lines = [f"    {line}".rstrip() for line in shown.splitlines() if line.strip()]
    assert "\n".join(lines) in text(page)


def test_the_story_that_was_told_has_the_settings_of_today():
    told = read_record(DemoFacts, HOME / "results" / "demo" / "mnist.json")
    story = story_of(told.dataset)
    for part in (*told.parts, told.control):
        e = story.experiments[part.name]
        known = (part.algorithm, part.model, part.rounds)
        assert known == (e.algorithm, e.model, e.rounds)
        assert part.attack.round == story.script.attack.round
        assert part.attack.images == len(story.script.attack.agents)


def test_the_numbers_of_the_readme_are_those_that_were_found():
    told = read_record(DemoFacts, HOME / "results" / "demo" / "mnist.json")
    paper = told.parts[1]
    page = " ".join(text("README.md").split())
    assert f"certifies that epsilon is at least {paper.certified:.2g}:" in page
    assert f"{len(algorithms.NAMES)} algorithms behind one interface" in page


# ---------------------------------------------------------------- what is listed
def test_the_command_table_lists_the_commands():
    names = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        inner = (
            command.list_commands(click.Context(command))
            if isinstance(command, click.Group)
            else []
        )
        names += [f"{name} {part}" for part in inner] or [name]
    shown = [
        re.match(r"`dpdl ([a-z ]+[a-z])", row[0])[1]
        for row in table("README.md", 2)
        if row[0].startswith("`dpdl")
    ]
    assert sorted(shown) == sorted(names)


def test_the_page_of_options_is_what_the_code_says():
    assert text("docs/options.md") == options_page.page(sorted(algorithms.NAMES)), (
        f"docs/options.md is old; make it again: {options_page.COMMAND}"
    )


def test_every_option_has_a_help_and_a_default_that_is_allowed():
    for algorithm in algorithms.NAMES:
        for f in [*SHARED.values(), *options_of(algorithm).values()]:
            assert f.metadata["help"], (algorithm, f.name)
            assert checked(f, f.default) == f.default


def test_presets_are_described():
    for name, options in PRESETS.items():
        assert f"`{name}`" in text("docs/experiments.md")
        for option in options:
            assert f"`{option}" in text("docs/algorithms/dpdl.md"), option


def test_every_page_is_in_the_navigation():
    def pages(part):
        if isinstance(part, str):
            return [part]
        return [
            page
            for item in (part.values() if isinstance(part, dict) else part)
            for page in pages(item)
        ]

    listed = pages(yaml.safe_load(text("mkdocs.yml"))["nav"])
    assert sorted(listed) == sorted(
        page.relative_to(HOME / "docs").as_posix() for page in DOCS
    )


def test_dependencies_are_pinned_and_explained():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.match(r"[A-Za-z0-9-]+", line)[0] for line in wanted} - {"dpdl"}
    pinned = dict(
        line.split("==")
        for line in text("constraints.txt").splitlines()
        if "==" in line
    )
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
    named = re.findall(
        r"`((?:src|docs|tests|examples|experiments|\.ci)/[\w./-]+)`", content
    )
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
        if (
            path == Path(__file__)
            or not path.is_file()
            or path.suffix in {".png", ".npz", ".npy"}
        ):
            continue
        for number, line in enumerate(
            path.read_text("utf-8", errors="replace").splitlines(), 1
        ):
            if match := forbidden.search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert not found
