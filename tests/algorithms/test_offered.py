"""A package of somebody else offers an algorithm by an entry point: it is run by name, without a line of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import dpdl_with as dpdl
from tests.documents import install_skeleton


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An installed package."""
    install_skeleton(tmp_path / "site")
    return tmp_path / "site"


def test_an_algorithm_of_another_package_runs_by_name(package: Path) -> None:
    words = [
        "--dataset",
        "digits",
        "--agents",
        "4",
        "--rounds",
        "5",
        "--quiet",
        "--json",
    ]
    done = dpdl(
        package,
        "run",
        "--algorithm",
        "cross-sgd",
        "--epsilon",
        "9",
        "--out",
        "r",
        *words,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["algorithm"] == "cross-sgd"
    assert summary["epsilon"]["eavesdropper"] == pytest.approx(9, rel=0.01)
    assert summary["epsilon"]["claimed_theorem1"] is None


def test_the_names_of_other_packages_are_offered_for_a_typing_error(
    package: Path,
) -> None:
    done = dpdl(package, "run", "--algorithm", "cros-sgd")
    assert done.returncode == 2
    assert "cross-sgd" in done.stderr and "Traceback" not in done.stderr
