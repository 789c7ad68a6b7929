"""In bash and in zsh a TAB completes the line, and spoils none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import SOURCE

BASH = """
eval "$(_DPDL_COMPLETE=bash_source dpdl)"
compopt() {{ echo "file"; }}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_dpdl_completion dpdl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a run, and the command in `bin`."""
    run = tmp_path / "runs" / "one $run"
    run.mkdir(parents=True)
    (run / "experiment.json").write_text("{}")
    command = tmp_path / "bin" / "dpdl"
    command.parent.mkdir()
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'dpdl'\n"
        "from dpdl.cli import main\nmain()\n"
    )
    command.chmod(0o755)
    return tmp_path


def told(home: Path, shell: str, script: str) -> list[str]:
    """What a shell has after a TAB; nothing may be said beside it."""
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", script],
        cwd=home,
        env={**os.environ, "PATH": path, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dpdl run --graph = bipartite-", ["bipartite-hub"]),
        ("dpdl run --algorithm = dpdl-", ["dpdl-sound"]),
        ("dpdl run --dataset = ./f", ["file", ""]),
        ("dpdl resume ''", [r"runs/one\ \$run"]),
        (r"dpdl resume 'runs/one\ '", [r"runs/one\ \$run"]),
        ("dpdl nothing ''", [""]),
        ("dpdl run --algorithm no.py:X --", [""]),
    ],
)
def test_bash_completes_a_line(home: Path, words: str, expected: list[str]) -> None:
    assert told(home, "bash", BASH.format(words=words)) == expected


def of_zsh(home: Path, line: str) -> list[str]:
    """The answer to zsh, without the kind of each name and its help."""
    asked = {
        "_DPDL_COMPLETE": "zsh_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "PYTHONPATH": SOURCE,
    }
    done = subprocess.run(
        [home / "bin" / "dpdl"],
        cwd=home,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return done.stdout.splitlines()[1::3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dpdl run --algorithm=dpdl-", ["--algorithm=dpdl-sound"]),
        ("dpdl compare --algorithms=dpdl,muf", ["--algorithms=dpdl,muffliato"]),
        ("dpdl resume ", ["runs/one $run"]),
        ("dpdl nothing ", []),
    ],
)
def test_zsh_is_answered_with_whole_words(
    home: Path, line: str, expected: list[str]
) -> None:
    assert of_zsh(home, line) == expected
