"""Data sets in memory, by name."""

from __future__ import annotations

import numpy as np
import torch

from dpdl.errors import InputError, unknown
from dpdl.tasks.data.cache import cache_dir, fetch_entry, read_entry
from dpdl.tasks.data.catalogue import CATALOGUE, Catalogue, CatalogueEntry
from dpdl.tasks.data.dataset import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.named import FILES, NAMES, OWN
from dpdl.tasks.targets import CLASSES, Classes, Predicted


def load(
    name: str,
    progress: bool = False,
    predict: Predicted = CLASSES,
    catalogue: Catalogue = CATALOGUE,
) -> Dataset:
    """The data set of a name, of a `PATH.npz` or `PATH.csv`, or of a `module:function`.

    A named data set that is not in the cache is fetched first; one whose cached files are damaged
    is refused. `predict` says what the targets of the user's own data are; for named data sets it
    is not used.
    """
    if name == "digits":
        from dpdl.tasks.data.digits import digits

        return digits()
    if name in catalogue:
        return _load_entry(catalogue[name], progress)
    if name.endswith(FILES):
        from dpdl.tasks.data.own import from_file

        return from_file(name, predict)
    if ":" in name:
        from dpdl.tasks.data.own import from_function

        return from_function(name, predict)
    raise unknown("dataset", name, NAMES, also=OWN)


def form_of(name: str) -> Form | None:
    """The form of a record of a named data set, without reading it; None for any other data set."""
    if name == "digits":
        return Form((1, 8, 8), Classes(10))
    if name not in CATALOGUE:
        return None
    entry = CATALOGUE[name]
    return Form(entry.shape, Classes(entry.classes), torch.uint8, entry.mean, entry.std)


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
