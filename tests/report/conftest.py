"""Folders that several tests look at, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.attacked import leave_attack
from tests.report.browser import Browser
from tests.report.planted import plant


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
