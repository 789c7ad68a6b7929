"""Calibrated noise that is remembered: the same bits, and never less noise than is needed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpdl.planning.calibrations import _sweep, calibrated, calibrations_dir, computed_by
from dpdl.privacy.accounting import Step, calibrate, epsilon
from tests.commands import SOURCE

STEP = Step(1.0, 30, 300)
ASKED = (8.0, 1e-5, STEP, 10, "add-remove")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPDL_CALIBRATIONS", str(tmp_path / "kept"))
    return tmp_path / "kept"


def only(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


def test_what_is_remembered_has_the_same_bits(folder: Path) -> None:
    first = calibrated(*ASKED)
    assert first == calibrate(*ASKED)
    entry = json.loads(only(folder).read_text())
    assert entry["sigma"] == first
    assert calibrated(*ASKED) == first


def test_what_is_remembered_is_used(folder: Path) -> None:
    """A larger noise multiplier with a right seal proves the target too, and shows the use."""
    calibrated(*ASKED)
    _forge(only(folder), 3.0)
    assert calibrated(*ASKED) == 3.0


def test_less_noise_than_needed_is_never_taken(folder: Path) -> None:
    """Not even with a right seal: the accountant is asked."""
    right = calibrated(*ASKED)
    _forge(only(folder), 0.5 * right)
    found = calibrated(*ASKED)
    assert found == right
    assert epsilon([(Step(found, 30, 300), 10)], 1e-5) <= 8.0
    assert json.loads(only(folder).read_text())["sigma"] == right, "and it is mended"


def _forge(path: Path, sigma: float) -> None:
    """Write an entry with another value, and a seal as the product makes it."""
    entry = json.loads(path.read_text())
    key = json.dumps(entry["about"], sort_keys=True)
    entry["sigma"] = sigma
    entry["sha256"] = hashlib.sha256(f"{key} {sigma!r}".encode()).hexdigest()
    path.write_text(json.dumps(entry))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"sigma": 100.0}',
        '{"sigma": 100.0, "sha256": "0"}',
        '{"sigma": "100", "sha256": "0"}',
        '{"sigma": NaN, "sha256": "0"}',
        "\x00\x00",
    ],
)
def test_a_damaged_or_foreign_entry_is_ignored(folder: Path, content: str) -> None:
    right = calibrated(*ASKED)
    path = only(folder)
    path.write_text(content)
    assert calibrated(*ASKED) == right
    assert json.loads(path.read_text())["sigma"] == right


@pytest.mark.parametrize(
    "other",
    [
        (8.5, 1e-5, STEP, 10, "add-remove"),
        (8.0, 1e-6, STEP, 10, "add-remove"),
        (8.0, 1e-5, Step(1.0, 31, 300), 10, "add-remove"),
        (8.0, 1e-5, Step(1.0, 30, 310), 10, "add-remove"),
        (8.0, 1e-5, Step(1.0, 30, 300, lost=1e-9), 10, "add-remove"),
        (8.0, 1e-5, Step(1.0, 30, 300, adaptive=True), 10, "add-remove"),
        (8.0, 1e-5, STEP, 11, "add-remove"),
        (8.0, 1e-5, STEP, 10, "replace-one"),
    ],
)
def test_everything_that_matters_is_in_the_key(folder: Path, other: tuple) -> None:
    calibrated(*ASKED)
    assert calibrated(*other) == calibrate(*other)
    assert len([*folder.glob("*.json")]) == 2


def test_the_key_names_the_code_that_computed() -> None:
    assert {"dpdl", "python", "dp-accounting", "numpy", "scipy", "source"} == set(
        computed_by()
    )


def test_the_noise_of_the_step_does_not_matter(folder: Path) -> None:
    calibrated(*ASKED)
    calibrated(8.0, 1e-5, Step(2.0, 30, 300), 10, "add-remove")
    assert only(folder)


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPDL_CALIBRATIONS", "off")
    assert calibrations_dir() is None
    assert calibrated(*ASKED) == calibrate(*ASKED)
    monkeypatch.delenv("DPDL_CALIBRATIONS")
    home = calibrations_dir()
    assert home is not None and home.parts[-2:] == ("dpdl", "calibrations")


def test_a_folder_that_cannot_be_used_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDL_CALIBRATIONS", str(tmp_path / "file"))
    assert calibrated(*ASKED) == calibrate(*ASKED)


def test_the_older_half_goes_when_there_are_too_many(tmp_path: Path) -> None:
    for k in range(4):
        path = tmp_path / f"{k}.json"
        path.write_text("{}")
        os.utime(path, (k, k))
    _sweep(tmp_path, most=5)
    assert len([*tmp_path.iterdir()]) == 4
    _sweep(tmp_path, most=4)
    assert {path.name for path in tmp_path.iterdir()} == {"2.json", "3.json"}


def test_processes_may_write_the_same_entry_at_once(folder: Path) -> None:
    code = (
        "from dpdl.planning.calibrations import calibrated\n"
        "from dpdl.privacy.accounting import Step\n"
        "print(repr(calibrated(8.0, 1e-5, Step(1.0, 30, 300), 10, 'add-remove')))"
    )
    env = {**os.environ, "PYTHONPATH": SOURCE}
    words = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = {one.communicate()[0].strip() for one in running}
    assert said == {repr(calibrated(*ASKED))}
    assert [path.name for path in folder.iterdir()] == [only(folder).name]


def test_a_pipe_or_a_deep_entry_is_ignored(folder: Path) -> None:
    """Neither waits for a writer, nor ends in a traceback."""
    right = calibrated(*ASKED)
    path = only(folder)
    path.write_text("[" * 100_000)
    assert calibrated(*ASKED) == right
    path.unlink()
    os.mkfifo(path)
    assert calibrated(*ASKED) == right
