"""Data sets by name.

`digits` is bundled, `mnist`, `fashion-mnist` and `cifar10` are fetched, others are the user's own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from dpdl.errors import InputError, unknown
from dpdl.tasks.data.cache import cache_dir, fetch_entry, read_entry
from dpdl.tasks.data.catalogue import CATALOGUE, Catalogue, CatalogueEntry
from dpdl.tasks.data.dataset import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import CLASSES, Classes, Predicted

NAMES: tuple[str, ...] = ("digits", *CATALOGUE)

__all__ = [
    "NAMES",
    "Dataset",
    "cache_dir",
    "class_counts",
    "fetch",
    "form_of",
    "is_here",
    "load",
]


def load(
    name: str,
    progress: bool = False,
    predict: Predicted = CLASSES,
    catalogue: Catalogue = CATALOGUE,
) -> Dataset:
    """The data set of a name, of a `PATH.npz`, or of the user's own `module:function`.

    A named data set that is not in the cache is fetched first; one whose cached files are damaged
    is refused. `predict` says what the targets of the user's own data are; for named data sets it
    is not used.
    """
    if name == "digits":
        from dpdl.tasks.data.digits import digits

        return digits()
    if name in catalogue:
        return _load_entry(catalogue[name], progress)
    if name.endswith(".npz"):
        from dpdl.tasks.data.own import from_file

        return from_file(name, predict)
    if ":" in name:
        from dpdl.tasks.data.own import from_function

        return from_function(name, predict)
    raise unknown(
        "dataset", name, NAMES, also="a PATH.npz, or your own module:function"
    )


def form_of(name: str) -> Form | None:
    """The form of a record of a named data set, without reading it; None for any other data set."""
    if name == "digits":
        return Form((1, 8, 8), Classes(10))
    if name not in CATALOGUE:
        return None
    entry = CATALOGUE[name]
    return Form(entry.shape, Classes(entry.classes), torch.uint8, entry.mean, entry.std)


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
        import sklearn.datasets

        return Path(sklearn.datasets.__file__).parent / "data"
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


def _load_entry(entry: CatalogueEntry, progress: bool) -> Dataset:
    content = read_entry(entry)
    if content is None:
        fetch_entry(entry, progress)
        content = read_entry(entry)
    if content is None:
        raise InputError(
            f"Data set {entry.name} vanished from {cache_dir()} while it was read: "
            f"run `dpdl data fetch {entry.name}` again."
        )
    # torch shares memory with numpy and needs arrays that may be written; bytes may not be.
    arrays = (
        np.require(array, requirements=["C", "W"]) for array in entry.decode(content)
    )
    x, y, x_test, y_test = map(torch.from_numpy, arrays)
    return Dataset(
        entry.name,
        x,
        y.long(),
        x_test,
        y_test.long(),
        entry.classes,
        mean=entry.mean,
        std=entry.std,
    )
