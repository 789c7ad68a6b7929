"""What a source of data is: something that writes a data set's files into a folder, or says why it cannot.

A source need not be trusted: whoever asked checks the SHA-256 of every file afterwards.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dpdl.tasks.data.progress import Progress

LARGEST_FILE = 64 * 2**20

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


def unpack_checked(unpack: Unpack, download: Path, folder: Path) -> None:
    """`unpack(download, folder)`, where a download that cannot be read is the source's failure."""
    try:
        unpack(download, folder)
    except (ValueError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise SourceError(f"{download.name} cannot be read: {error}") from error
