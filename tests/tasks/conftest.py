"""Fixtures for what is fetched: a mirror and an empty cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tasks.downloads import Server, running


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A mirror on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of MNIST in an empty cache."""
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("DPDL_MIRROR", raising=False)
    return tmp_path / "cache" / "mnist"
