"""The cache of fetched data sets: a folder of raw files each, checked by SHA-256 whenever they are read.

Files arrive under a temporary name in the same folder tree and are moved into place only when all of them are
right. So an interrupted fetch leaves nothing half-written, and two processes may fetch at the same time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from dpdl.errors import InputError
from dpdl.tasks.data.catalogue import Entry
from dpdl.tasks.data.progress import Progress, reporting
from dpdl.tasks.data.sources import Source, SourceError

STALE_SECONDS = 24 * 3600


def cache_dir() -> Path:
    """The folder that holds fetched data sets: `DPDL_DATA` if set, else `dpdl` in the user's cache folder."""
    chosen = os.environ.get("DPDL_DATA")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("dpdl", appauthor=False))


def sources(entry: Entry) -> tuple[Source, ...]:
    """Where to look, in order. `DPDL_MIRROR=URL` replaces the public mirrors by `URL/NAME/`."""
    base = os.environ.get("DPDL_MIRROR")
    if not base:
        return (*entry.mirrors, *entry.registries)
    if not base.startswith(("http://", "https://")):
        raise InputError(
            f"DPDL_MIRROR must be a URL that starts with http:// or https://, not {base!r}."
        )
    own = dataclasses.replace(entry.mirrors[0], base=f"{base.rstrip('/')}/{entry.name}")
    return (own, *entry.registries)


def wrong_file(entry: Entry, folder: Path) -> Path | None:
    """The first file of the data set that is missing or not the right one; None when all are right."""
    for name, sha256 in entry.files.items():
        content = _content(folder / name)
        if content is None or hashlib.sha256(content).hexdigest() != sha256:
            return folder / name
    return None


def read(entry: Entry) -> dict[str, bytes] | None:
    """The checked contents of all files, or None when some are not there; a damaged file is refused."""
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


def fetch_entry(entry: Entry, progress: bool) -> Path:
    """The folder with all files of the data set, fetched if one is missing or damaged."""
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


def _fetch_into(entry: Entry, folder: Path, place: Path, shown: bool) -> None:
    reasons = []
    with reporting(shown) as progress:
        for number, source in enumerate(sources(entry)):
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
        "Set DPDL_MIRROR to a copy that can be reached, or use the data set digits, which always works."
    )


def _try(source: Source, entry: Entry, arrived: Path, progress: Progress) -> None:
    scratch = arrived / "scratch"
    scratch.mkdir(parents=True)
    source.collect(arrived, scratch, progress)
    wrong = wrong_file(entry, arrived)
    if wrong is not None:
        raise SourceError(f"{wrong.name} is not the known file, its SHA-256 differs")
    shutil.rmtree(scratch)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(
            f"The cached file {path} cannot be read: {error.strerror or error}."
        ) from error


def _sweep(folder: Path) -> None:
    # A killed process cannot remove its temporary folder; a day later nobody writes there any more.
    for left in folder.glob(".fetch-*"):
        try:
            old = time.time() - left.stat().st_mtime > STALE_SECONDS
        except OSError:
            continue
        if old:
            shutil.rmtree(left, ignore_errors=True)
