"""A light installation trains, compares, reports, plans and audits; only pictures are left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import SOURCE

REFUSED = ("matplotlib", "PIL", "sklearn", "wandb", "mlflow", "trackio")
BLOCK = f"""
import sys
from importlib.machinery import PathFinder

class Poorer(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in {REFUSED!r}:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Poorer
"""
"""An environment in which these libraries are not installed."""
PLAY = """
import contextlib, io, json, sys
from dpdl.cli import main

found = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["dpdl", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""
SMALL = "--dataset digits --agents 3 --batch 8 --sigma 2 --rounds 2 --seed 3"
REMEDY = "matplotlib is not installed; get it with: pip install 'dpdl[plots]'."
WORK = {
    "run": f"run {SMALL} --out one --quiet",
    "resume": "resume one --quiet",
    "compare": f"compare --algorithms dpdl-sound,dp-dpsgd {SMALL} --out two --jobs 1 --quiet",
    "report": "report one",
    "verify": "privacy verify one",
    "sigma": "privacy sigma --epsilon 60 --rounds 5",
    "audit": "audit --records 40 --rate 1 --rounds 2 --sigma 2 --canaries 20 --json",
    "graph": "graph ring --agents 4 --json",
    "describe": "data describe --dataset digits --agents 3 --json",
    "list": "data list",
}
PICTURES = {
    "attack": "attack one",
    "demo": "demo --out three",
    "plot": "privacy sigma --epsilon 60 --rounds 5 --plot p.png",
    "bench": "bench gradients --plot p.png",
    "graph --out": "graph ring --agents 4 --out p.png",
    "describe --out": "data describe --dataset digits --agents 3 --out p.png",
}


@pytest.fixture(scope="module")
def light(tmp_path_factory) -> tuple[Path, dict[str, tuple[int, str, str]]]:
    """A folder, and what every command answered there without the extras."""
    folder = tmp_path_factory.mktemp("light")
    hook = tmp_path_factory.mktemp("hook")
    (hook / "sitecustomize.py").write_text(BLOCK)
    commands = {**WORK, **PICTURES}
    given = json.dumps([words.split() for words in commands.values()])
    done = subprocess.run(
        [sys.executable, "-c", PLAY, given],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(hook), SOURCE])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, dict(zip(commands, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("name", WORK)
def test_what_needs_no_picture_is_done(light, name: str) -> None:
    code, out, err = light[1][name]
    assert code == 0, err
    assert out
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["run", "resume", "compare", "graph", "describe"])
def test_a_picture_that_is_a_by_product_is_left_out_with_a_sentence(
    light, name: str
) -> None:
    _, out, err = light[1][name]
    (line,) = err.splitlines()
    assert line.endswith(f"left out: {REMEDY}")
    assert "Curves:" not in out
    if out.startswith("{"):
        assert json.loads(out)["picture"] is None


@pytest.mark.parametrize("name", PICTURES)
def test_a_command_about_a_picture_is_refused(light, name: str) -> None:
    code, out, err = light[1][name]
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.endswith(f"{REMEDY}\n")


def test_no_picture_was_made_and_pages_say_so(light) -> None:
    folder = light[0]
    assert not list(folder.rglob("*.png"))
    page = (folder / "one" / "report.html").read_text("utf-8")
    assert "The pictures of this page were left out" in page
    assert "<img" not in page


def test_the_hook_refuses(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    done = subprocess.run(
        [sys.executable, "-c", "import matplotlib"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'matplotlib'" in done.stderr
