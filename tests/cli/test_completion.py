"""A shell completes commands, options and values, quickly and without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dpdl.cli import COMMANDS
from dpdl.cli.completion import among, matching, run_folders, several
from dpdl.experiment import names
from tests.commands import SOURCE

CODE = (
    "import sys; sys.argv = ['dpdl']\n"
    "from dpdl.cli import main\n"
    "try: main()\n"
    "finally: print('torch' in sys.modules, file=sys.stderr)\n"
)


def completed(home: Path, line: str, shell: str = "bash") -> list[str]:
    """What a shell gets for the last word of a line; torch must not have been imported."""
    words = line.split(" ")
    asked = {
        "_DPDL_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "PYTHONPATH": SOURCE,
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=home,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == "False", done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number, name in enumerate(("first", "second")):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "experiment.json").write_text("{}")
        os.utime(run / "experiment.json", (number, number))
    (tmp_path / "runs" / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dpdl re", ["plain,resume", "plain,reproduce", "plain,report"]),
        ("dpdl run --algorithm dpdl", ["plain,dpdl", "plain,dpdl-sound"]),
        ("dpdl run --dataset f", ["plain,fashion-mnist"]),
        ("dpdl run --dataset ./f", ["file,./f"]),
        ("dpdl run --graph bi", ["plain,bipartite", "plain,bipartite-hub"]),
        ("dpdl run --model sc", ["plain,scatter-cnn", "plain,scatter-linear"]),
        ("dpdl run --noise t", ["plain,theorem1"]),
        ("dpdl run --check", ["plain,--checkpoint-every"]),
        ("dpdl run --algorithm decor --corr", ["plain,--correlation"]),
        ("dpdl run --algorithm dpdl --cosine v", ["plain,vector"]),
        ("dpdl compare --algorithms dpdl,mu", ["plain,dpdl,muffliato"]),
        ("dpdl resume ", ["plain,runs/second", "plain,runs/first"]),
        ("dpdl resume runs/f", ["plain,runs/first"]),
        ("dpdl privacy verify runs/s", ["plain,runs/second"]),
        ("dpdl report x", ["dir,x"]),
        ("dpdl data fetch c", ["plain,cifar10"]),
        ("dpdl graph to", ["plain,torus"]),
        ("dpdl export runs/first --to m", ["plain,model"]),
        ("dpdl run --track csv,w", ["plain,csv,wandb"]),
        ("dpdl resume runs/first --track t", ["plain,tensorboard", "plain,trackio"]),
    ],
)
def test_bash_is_offered_what_fits(home: Path, line: str, expected: list[str]) -> None:
    found = completed(home, line)
    assert sorted(found) == sorted(expected) if line == "dpdl re" else found == expected


def test_zsh_gets_the_help_of_commands(home: Path) -> None:
    assert completed(home, "dpdl exp", "zsh") == [
        "plain",
        "export",
        COMMANDS["export"][1],
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_of_a_shell_is_printed(home: Path, shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "_DPDL_COMPLETE": f"{shell}_source", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"_DPDL_COMPLETE={shell}_complete" in done.stdout


# ------------------------------------------------------------------ the pieces
def values(found: list) -> list[str]:
    return [item.value for item in found]


CTX = click.Context(click.Command("x"))
ANY = click.Argument(["x"])


def test_names_are_listed_only_when_a_shell_asks() -> None:
    asked = []
    complete = among(lambda: asked.append(1) or names.graphs())
    assert not asked
    assert values(complete(CTX, ANY, "ri")) == ["ring"] and asked


def test_one_of_several_is_not_offered_twice() -> None:
    complete = several(["a", "ab", "b"])
    assert values(complete(CTX, ANY, "")) == ["a", "ab", "b"]
    assert values(complete(CTX, ANY, "a,")) == ["a,ab", "a,b"]
    assert values(complete(CTX, ANY, "b,a")) == ["b,a", "b,ab"]


def test_what_does_not_fit_is_not_offered() -> None:
    assert values(matching(["ring", "star"], "x")) == []


def test_a_folder_without_runs_is_walked_into(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (item,) = run_folders(CTX, ANY, "")
    assert (item.value, item.type) == ("", "dir")
    (item,) = run_folders(CTX, ANY, "nowhere/a")
    assert (item.value, item.type) == ("nowhere/a", "dir")
