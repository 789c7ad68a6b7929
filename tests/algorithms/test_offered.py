"""A package of somebody else offers an algorithm by an entry point: it is run by name, without a line of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_house import code_blocks


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An installed package, as pip leaves it: a module, and a folder of metadata with an entry point."""
    home = tmp_path / "site"
    about = home / "cross_sgd-1.0.dist-info"
    about.mkdir(parents=True)
    (home / "cross_sgd.py").write_text(code_blocks("CONTRIBUTING.md")[0], "utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cross-sgd\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text("[dpdl.algorithms]\ncross-sgd = cross_sgd:CrossSGD\n", "utf-8")
    return home


def dpdl(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "dpdl", *words], cwd=home, env=environment, capture_output=True, text=True, check=False
    )


def test_an_algorithm_of_another_package_runs_by_name(package: Path) -> None:
    words = ["--dataset", "digits", "--agents", "4", "--rounds", "5", "--quiet", "--json"]
    done = dpdl(package, "run", "--algorithm", "cross-sgd", "--epsilon", "9", "--out", "r", *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["algorithm"] == "cross-sgd"
    assert summary["epsilon"]["eavesdropper"] == pytest.approx(9, rel=0.01)
    assert summary["epsilon"]["claimed_theorem1"] is None


def test_the_names_of_other_packages_are_offered_for_a_typing_error(package: Path) -> None:
    done = dpdl(package, "run", "--algorithm", "cros-sgd")
    assert done.returncode == 2
    assert "cross-sgd" in done.stderr and "Traceback" not in done.stderr
