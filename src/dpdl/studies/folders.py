"""Default output folders of studies: repeating a request finds the folder, and resumes it."""

from __future__ import annotations

from pathlib import Path

from dpdl.experiment.options import FLAT
from dpdl.folder.lock import default_folder
from dpdl.studies.comparison import Comparison
from dpdl.studies.search import Search


def comparison_folder(c: Comparison) -> Path:
    """Where a comparison goes unless a folder is named."""
    return default_folder("compare", [c.facts(), c.own, c.seeds])


def search_folder(s: Search) -> Path:
    """Where a search goes unless a folder is named."""
    e = {**FLAT, **s.experiment.as_dict()}  # folders were named so when all had these
    asked = [e, s.ranges, s.trials, s.search]
    return default_folder("tune", asked if s.work is None else [*asked, s.work])
