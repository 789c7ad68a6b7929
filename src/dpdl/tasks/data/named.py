"""The data sets that have a name, as far as neither their records nor torch are needed."""

from __future__ import annotations

from pathlib import Path

from dpdl.errors import unknown
from dpdl.tasks.data.cache import cache_dir, fetch_entry
from dpdl.tasks.data.catalogue import CATALOGUE, Catalogue

NAMES: tuple[str, ...] = ("digits", *CATALOGUE)
OWN = "a PATH.npz, a PATH.csv, or your own module:function"
"""What can be given instead of a name."""
FILES = (".npz", ".csv")
"""How the names of data files end."""


def check_name(name: str) -> None:
    """Refuse what is neither a name nor of the form of the user's own data."""
    if name not in NAMES and not name.endswith(FILES) and ":" not in name:
        raise unknown("dataset", name, NAMES, also=OWN)


def class_counts(name: str) -> tuple[int, ...] | None:
    """How many training records of every class a data set has, without reading it.

    None where only its records tell.
    """
    return CATALOGUE[name].class_counts if name in CATALOGUE else None


def fetch(name: str, progress: bool = False, catalogue: Catalogue = CATALOGUE) -> Path:
    """Make a named data set available offline, and replace damaged files.

    Returns the folder that holds it.
    """
    if name == "digits":
        return Path(__file__).parent
    if name not in catalogue:
        raise unknown("dataset", name, NAMES)
    return fetch_entry(catalogue[name], progress)


def is_here(name: str) -> bool:
    """Whether a named data set can be loaded without a network; its files are not checked."""
    if name not in NAMES:
        raise unknown("dataset", name, NAMES)
    if name == "digits":
        return True
    folder = cache_dir() / name
    return all((folder / file).is_file() for file in CATALOGUE[name].files)
