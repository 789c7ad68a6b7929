"""Folders of studies: their default names, and how their files are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdl.errors import RunFailed
from dpdl.experiment.options import FLAT
from dpdl.folder import files, names
from dpdl.records import Record
from dpdl.studies.comparison_request import Comparison
from dpdl.studies.search import Search


def comparison_folder(c: Comparison, trials: int | None = None) -> Path:
    """Where a comparison goes unless a folder is named; `trials` tune it."""
    asked = [c.terms().to_json(), c.own, c.seeds]
    return default_folder("compare", asked if trials is None else [*asked, trials])


def search_folder(s: Search) -> Path:
    """Where a search goes unless a folder is named."""
    e = {**FLAT, **s.experiment.as_dict()}  # folders were named so when all had these
    asked = [e, s.ranges, s.trials, s.search]
    return default_folder("tune", asked if s.work is None else [*asked, s.work])


def default_folder(command: str, asked: object) -> Path:
    """Default output folder: a hash of the request, so repeating it resumes it."""
    text = json.dumps(asked, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return Path(names.RUNS) / f"{command}-{digest}"


def write_record(path: Path, record: Record) -> None:
    """Replace a JSON file of a study."""
    with _writing(path):
        files.write_json(path, record.to_json())


def write_text(path: Path, text: str) -> None:
    """Replace a text file of a study."""
    with _writing(path):
        files.write(path, text.encode())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A disk that fails is a `RunFailed`, which says how to go on."""
    try:
        yield
    except OSError as failure:
        raise RunFailed(
            f"Writing {str(path)!r} failed: {failure.strerror}. What was written "
            "before is intact; continue with the same command."
        ) from failure
