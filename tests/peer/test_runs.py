"""Runs are found by their hash, the beginning of it, their folder or their manifest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.manifest import Manifest, Rules
from dpdl.peer.runs import Runs
from tests.peer.agreements import agreed, manifest


def stored(runs: Runs, found: Manifest, age: float) -> Path:
    folder = runs.place(found.hash)
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_bytes(found.content)
    os.utime(folder / "manifest.toml", (age, age))
    return folder


@pytest.fixture
def other() -> Manifest:
    return Manifest.parse(agreed(rules=Rules(alarm_minutes=7)))


def test_a_run_has_several_names(tmp_path: Path, other: Manifest) -> None:
    runs = Runs(tmp_path / "runs")
    first, second = stored(runs, manifest(), 100), stored(runs, other, 200)
    mailed = tmp_path / "m.toml"
    mailed.write_bytes(manifest().content)
    for name in (manifest().hash, manifest().hash[:12], str(first), str(mailed)):
        assert runs.find(name) == first
    assert runs.find(other.hash) == second
    assert runs.all() == [first, second]
    assert runs.last_manifest() == other


def test_a_name_that_fits_none_or_two_is_refused(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    assert (runs.all(), runs.last_manifest()) == ([], None)
    for digits in ("aaaa" + "0" * 60, "aaaa" + "1" * 60):
        (tmp_path / digits).mkdir()
        (tmp_path / digits / "manifest.toml").write_text("")
    assert runs.find("aaaa0").name == "aaaa" + "0" * 60
    with pytest.raises(InputError, match="has 2 runs whose hash begins with 'aaaa'"):
        runs.find("aaaa")
    with pytest.raises(InputError, match="has no run whose hash begins with 'bbbb'"):
        runs.find("bbbb")
    with pytest.raises(InputError, match="at least 4 digits of its hash, not 'aaa'"):
        runs.find("aaa")
    for name in ("", "/", "\0", "x" * 5000):
        with pytest.raises(InputError):
            runs.find(name)


def test_a_run_is_named_by_a_whole_hash(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name of a run must be 64 hexadecimal"):
        Runs(tmp_path).place("../x")


def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InputError, match=r"m\.toml' cannot be read: it has more than"):
        Runs(tmp_path).find(str(tmp_path / "m.toml"))
