"""The notebooks in `examples/` run, and what they show is what they print today."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import SOURCE
from tests.documents import HOME

NOTEBOOKS = sorted((HOME / "examples").glob("*.ipynb"))
MOST_BYTES = 300_000


def cells(path: Path, kind: str) -> list[dict]:
    found = json.loads(path.read_text("utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def test_there_are_three() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["attack_and_audit", "first_run", "own_algorithm"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_was_executed_in_order_without_an_error(path: Path) -> None:
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {one["output_type"] for cell in code for one in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    streams = {one.get("name") for cell in code for one in cell["outputs"]}
    assert "stderr" not in streams
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_says_nothing_of_where_and_when(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    assert content["metadata"]["language_info"] == {"name": "python"}
    assert all(cell["metadata"] == {} for cell in content["cells"])
    pictures = re.compile(r'"image/png": "[^"]*"')
    text = pictures.sub("", path.read_text("utf-8"))
    assert not re.search(r"/tmp/|/root|0x[0-9a-f]{8}|\d\d:\d\d:\d\d", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_a_notebook_points_to_exists(path: Path) -> None:
    prose = "".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    for link in re.findall(r"\]\((?!https?://)([^)#\s]+)", prose):
        assert (path.parent / link).exists(), link


def checked(name: str) -> subprocess.CompletedProcess[str]:
    """The notebook, executed once more in a process of its own, where warnings are allowed."""
    found = {"PYTHONPATH": SOURCE, "PYTHONWARNINGS": ""}
    return subprocess.run(
        [sys.executable, str(HOME / "tools" / "notebooks.py"), "--check", name],
        env={**os.environ, **found},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_notebook_prints_what_it_shows() -> None:
    done = checked("first_run.ipynb")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attack_and_audit.ipynb", "own_algorithm.ipynb"])
def test_the_others_do_too(name: str) -> None:
    done = checked(name)
    assert done.returncode == 0, done.stdout + done.stderr
