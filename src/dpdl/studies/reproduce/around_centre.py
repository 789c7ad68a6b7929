"""The recipe of mode sound for algorithms whose agents agree: features around a private centre.

Found on a tenth of the training records, with all records of the others in one place: such
algorithms have the noise of a trusted server, so neither the graph nor the partition changes
what is best. `docs/features.md` has the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpdl.paper.cells import Cell
from dpdl.records import JsonObject

SHARED: JsonObject = {
    "batch": None,
    "clip": 0.8,
    "momentum": 0.9,
    "lr_schedule": "linear",
    "centre": "private",
}
OF_DATASET: Mapping[str, JsonObject] = {
    "mnist": {
        "model": "scatter-linear",
        "rounds": 200,
        "rate": 0.1,
        "centre_noise": 60.0,
    },
    "cifar10": {
        "model": "patch-linear",
        "rounds": 100,
        "rate": 0.2,
        "centre_noise": 20.0,
    },
}
STEPS: Mapping[str, Mapping[float, float]] = {
    "mnist": {0.25: 2.0, 0.5: 4.0, 1.0: 8.0},
    "cifar10": {2.0: 40.0, 4.0: 60.0, 8.0: 90.0},
}
"""The step size, by epsilon."""


def options(cell: Cell) -> JsonObject:
    """The options of a cell."""
    step = STEPS[cell.dataset][cell.epsilon]
    return {**SHARED, **OF_DATASET[cell.dataset], "lr": step}
