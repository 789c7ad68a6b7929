"""The ledger of a data set on disks that are full, or cannot be written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.folder.data_ledger import DataLedger
from tests.folder.data_ledgers import ROUND, made


def mounted(*words: object) -> None:
    """Mount something, or skip: it takes a right that not everybody has."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    done = subprocess.run(["mount", *map(str, words)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no small disk can be mounted here")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted("-t", "tmpfs", "-o", "size=400k", "tmpfs", place)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def test_on_a_full_disk_nothing_is_paid_and_nothing_is_lost(small_disk: Path) -> None:
    with made(small_disk, 100.0) as ledger:
        ledger.reserve("a", [ROUND.times(100_000)])
        ledger.debit("a", 0, 1)
        filler = small_disk / "filler"
        fill(filler)
        with pytest.raises(RunFailed, match="full"):
            all(ledger.debit("a", 0, t) for t in range(2, 10_000))
        paid = ledger.run("a").rounds_spent
        assert paid < 1_000
        filler.unlink()
        assert ledger.debit("a", 0, paid + 1)
    with DataLedger.open(ledger.folder) as again:
        assert again.run("a").rounds_spent == paid + 1
        assert again.verify() == again.head


def test_no_ledger_is_made_on_a_full_disk(small_disk: Path) -> None:
    fill(small_disk / "x")
    with pytest.raises(InputError, match="Ledger"):
        made(small_disk)
    assert [one.name for one in small_disk.iterdir()] == ["x"]


def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    made(tmp_path).close()
    place = tmp_path / "read-only"
    place.mkdir()
    mounted("--bind", tmp_path / "d.dpdl-ledger", place)
    try:
        mounted("-o", "remount,bind,ro", place)
        with pytest.raises((InputError, RunFailed), match="Ledger"):  # noqa: SIM117
            with DataLedger.open(place) as ledger:
                ledger.reserve("a", [ROUND])
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
