"""Sources of data: each writes the files of a data set into a folder, or says why it cannot.

A source need not be trusted: the cache checks the SHA-256 of every file afterwards.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdl.tasks.data.progress import FetchProgress

LARGEST_FILE = 64 * 2**20

"""Bytes that a file of a data set may have."""

Unpack = Callable[[Path, Path], None]
"""Takes a download and the folder for the files in it."""


class SourceError(Exception):
    """A source could not deliver; the message gives the reason, without the name of the source."""


class Source(Protocol):
    """A way to obtain the files of a data set."""

    @property
    def label(self) -> str:
        """The source's name in messages."""

    def collect(self, folder: Path, scratch: Path, progress: FetchProgress) -> None:
        """Write the files into `folder`; `scratch` is an empty folder for anything else."""


def unpack_checked(unpack: Unpack, download: Path, folder: Path) -> None:
    """`unpack(download, folder)`; a download that cannot be read is a `SourceError`."""
    try:
        unpack(download, folder)
    except (ValueError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise SourceError(f"{download.name} cannot be read: {error}") from error
