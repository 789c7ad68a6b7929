"""Folders that several tests look at, and a browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.attacked import leave_attack
from tests.pages.browser import Browser
from tests.pages.planted import plant
from tests.pages.stated import Edit, made


@pytest.fixture
def attacked(tmp_path: Path) -> Path:
    """The folder of an attack."""
    leave_attack(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A real run of dpdl, in which everything private is a number that can be recognised."""
    return plant(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """One browser for all tests of a module."""
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def secure(tmp_path_factory) -> Path:
    """A run with secret noise."""
    return made(tmp_path_factory, randomness="secure", threat="neighbours:2")


@pytest.fixture
def edited(secure: Path, tmp_path: Path) -> Edit:
    """A copy of the secure run with other values in some of its files."""

    def change(
        summary: dict | None = None, header: dict | None = None, **settings: object
    ) -> Path:
        copy = tmp_path / "copy"
        shutil.copytree(secure, copy)
        s, e = (
            json.loads((copy / name).read_text())
            for name in ("summary.json", "experiment.json")
        )
        (copy / "summary.json").write_text(json.dumps({**s, **(summary or {})}))
        (copy / "experiment.json").write_text(
            json.dumps({**e, "experiment": {**e["experiment"], **settings}})
        )
        first, *rest = (copy / "ledger.jsonl").read_text().splitlines()
        lines = [json.dumps({**json.loads(first), **(header or {})}), *rest]
        (copy / "ledger.jsonl").write_text("\n".join(lines) + "\n")
        return copy

    return change
