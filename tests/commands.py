"""Commands as tests give them, and what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpdl as dpdl_package
from dpdl.cli import main

SOURCE = str(Path(dpdl_package.__file__).parents[1])
"""Where a process of its own finds the package that is tested here."""
DIGITS = ["--dataset", "digits", "--agents", "5", "--batch", "8", "--sigma", "0.5"]


def dpdl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    monkeypatch.setattr(sys, "argv", ["dpdl", *words])
    with pytest.raises(SystemExit) as leaving:
        main()
    out, err = capsys.readouterr()
    return int(leaving.value.code or 0), out, err


def dpdl_with(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, in a folder whose packages are installed."""
    return subprocess.run(
        [sys.executable, "-m", "dpdl", *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(home), SOURCE])},
        capture_output=True,
        text=True,
        check=False,
    )
