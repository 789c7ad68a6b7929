"""The records that tuning scores on: a tenth of the training records, held out of training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment
    from dpdl.tasks.data import Dataset

HELD_OUT = 10
"""One training record in so many is held out."""


def load_held_out(e: Experiment, progress: bool = False) -> Dataset:
    """The data set of an experiment, with a tenth held out."""
    from dpdl.tasks import data as datasets
    from dpdl.tasks.targets import predicted

    return held_out(datasets.load(e.dataset, progress, predicted(e.predict)), e.seed)


def held_out(data: Dataset, seed: int) -> Dataset:
    """A data set whose test records are a tenth of the training records.

    They are drawn by the key (seed, "tune-held-out"). Its training records are the others; the real
    test records are in neither.
    """
    import numpy as np  # not above: a command that only plans should not wait for torch
    import torch

    from dpdl.keys import generator

    order = generator(seed, "tune-held-out").permutation(len(data.y))
    count = max(1, len(order) // HELD_OUT)
    test, train = (
        torch.from_numpy(np.sort(part)) for part in (order[:count], order[count:])
    )
    x, y = data.x, data.y
    return replace(data, x=x[train], y=y[train], x_test=x[test], y_test=y[test])
