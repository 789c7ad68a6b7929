"""The cache of fetched data sets: a folder of raw files each, with a known SHA-256.

Files arrive in a temporary folder and are moved into place when all of them are right. So an
interrupted fetch leaves nothing half-written, and two processes may fetch at the same time. Files
are checked again whenever they are read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.foreign import read_bytes
from dpdl.tasks.data.catalogue import CatalogueEntry
from dpdl.tasks.data.sources import Source, SourceError

if TYPE_CHECKING:
    from dpdl.tasks.data.progress import FetchProgress

STALE_SECONDS = 24 * 3600


def cache_dir() -> Path:
    """The folder of fetched data sets: `DPDL_DATA`, or `dpdl` in the user's cache folder."""
    chosen = os.environ.get("DPDL_DATA")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("dpdl", appauthor=False))


def sources_of(entry: CatalogueEntry) -> tuple[Source, ...]:
    """The sources to try, in order; `DPDL_MIRROR=URL` replaces the mirrors by `URL/NAME/`."""
    base = os.environ.get("DPDL_MIRROR")
    if not base:
        return (*entry.mirrors, *entry.registries)
    if not base.startswith(("http://", "https://")):
        raise InputError(
            f"DPDL_MIRROR must be a URL that starts with http:// or https://, not {base!r}."
        )
    own = dataclasses.replace(entry.mirrors[0], base=f"{base.rstrip('/')}/{entry.name}")
    return (own, *entry.registries)


def wrong_file(entry: CatalogueEntry, folder: Path) -> Path | None:
    """The first file that is missing or has another SHA-256; None if all are right."""
    for name, sha256 in entry.files.items():
        content = _content(folder / name)
        if content is None or hashlib.sha256(content).hexdigest() != sha256:
            return folder / name
    return None


def read_entry(entry: CatalogueEntry) -> dict[str, bytes] | None:
    """The contents of all files; None if one is missing. A damaged file is refused."""
    found: dict[str, bytes] = {}
    for name, sha256 in entry.files.items():
        path = cache_dir() / entry.name / name
        content = _content(path)
        if content is None:
            return None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InputError(
                f"The cached file {path} is damaged (its SHA-256 is not the known one): "
                f"run `dpdl data fetch {entry.name}` again."
            )
        found[name] = content
    return found


def fetch_entry(entry: CatalogueEntry, progress: bool) -> Path:
    """The folder with all files of the data set, which are fetched if one is missing or damaged."""
    folder = cache_dir() / entry.name
    if wrong_file(entry, folder) is None:
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as place:
            _fetch_into(entry, folder, Path(place), progress)
    except OSError as error:
        raise InputError(
            f"The cache folder {folder} cannot be written ({error.strerror or error}): "
            "free some space, or set DPDL_DATA to a folder you may write to."
        ) from error
    return folder


def _fetch_into(entry: CatalogueEntry, folder: Path, place: Path, shown: bool) -> None:
    from dpdl.tasks.data.progress import reporting  # not above: it imports rich

    reasons = []
    with reporting(shown) as progress:
        for number, source in enumerate(sources_of(entry)):
            arrived = place / str(number)
            try:
                _try(source, entry, arrived, progress)
            except SourceError as error:
                reasons.append(f"{source.label} ({error})")
                continue
            for name in entry.files:
                (arrived / name).replace(folder / name)
            return
    raise InputError(
        f"Data set {entry.name} could not be fetched. Tried: {'; '.join(reasons)}. "
        "Set DPDL_MIRROR to a copy that can be reached, or use the data set digits, which always "
        "works."
    )


def _try(
    source: Source, entry: CatalogueEntry, arrived: Path, progress: FetchProgress
) -> None:
    scratch = arrived / "scratch"
    scratch.mkdir(parents=True)
    source.collect(arrived, scratch, progress)
    wrong = wrong_file(entry, arrived)
    if wrong is not None:
        raise SourceError(f"{wrong.name} is not the known file, its SHA-256 differs")
    shutil.rmtree(scratch)


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(
            f"The cached file {path} cannot be read: {error.strerror or error}."
        ) from error
    except ValueError as error:
        raise InputError(f"The cached file {path} is damaged: {error}.") from error


def _sweep(folder: Path) -> None:
    # A killed process leaves its temporary folder behind; a day later nobody writes there.
    for left in folder.glob(".fetch-*"):
        try:
            old = time.time() - left.stat().st_mtime > STALE_SECONDS
        except OSError:
            continue
        if old:
            shutil.rmtree(left, ignore_errors=True)
