"""From a cell of the paper to an experiment, in three modes.

    as-published  what the authors' public code does: chunks of a batch are clipped, which bounds no
                  record; it has DPDL alone, so the others follow the paper's text (see `OTHERS`)
    algorithm1    the paper's algorithm and its Theorem 1; step sizes in `tuned.json`, which states
                  how they were found
    sound         epsilon is proven against one who hears every link; a linear model on scattering
                  features, which is where the accuracy comes from; step sizes in `tuned.json`, too;
                  `concord`, whose agents agree, has a recipe of its own: `around_centre`

Partition, initial model, batches and noise of a seed are the same for all algorithms that have
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import final

from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import Experiment, load
from dpdl.experiment.options import has as has_option
from dpdl.paper.cells import Cell
from dpdl.records import JsonObject, Record, others
from dpdl.studies.reproduce import around_centre

AS_PUBLISHED = "as-published"
ALGORITHM1 = "algorithm1"
SOUND = "sound"
MODES = {
    AS_PUBLISHED: (
        "no guarantee: clipping chunks of a batch does not bound what one record does"
    ),
    ALGORITHM1: (
        "the epsilon is claimed by Theorem 1; what is proven is larger, see each result"
    ),
    SOUND: "the epsilon is proven against an eavesdropper on all links",
}
DEFAULTS: dict[str, JsonObject] = {
    AS_PUBLISHED: {"rounds": 1000, "batch": 216},
    ALGORITHM1: {
        "rounds": 1000,
        "batch": 216,
        "noise": "theorem1",
        "partition": "dirichlet-agent",
    },
    SOUND: {
        "rounds": 300,
        "batch": 216,
        "noise": "accountant",
        "threat": "eavesdropper",
        "partition": "dirichlet-agent",
        "model": "scatter-linear",
        "clip": 0.1,
        "momentum": 0.7,
    },
}
STEP = {"mnist": 0.005, "cifar10": 0.03}
"""The paper's eta, for all algorithms."""
MOMENTUM = 0.7
"""The paper's beta, for all algorithms; those without momentum take the step that it amounts to,
eta / (1 - beta)."""
OTHERS: dict[str, JsonObject] = {
    "dp-dpsgd": {"clip_unit": "batch", "momentum": MOMENTUM},
    "muffliato": {"clip_unit": "none"},
    "dp-netfleet": {"clip_unit": "batch"},
    "dp-cga": {"clip_unit": "batch", "momentum": MOMENTUM},
}
"""As published: the mean gradient of a batch is clipped, and nothing in MUFFLIATO."""


WITHOUT = (
    "Mode algorithm1 is about Theorem 1, which is about dpdl only; decor and concord "
    "are for mode sound. Choose other cells."
)
BEYOND = {"decor": SOUND, "concord": SOUND}
"""Algorithms that the paper does not have, and the mode in which they stand beside its own."""
OWN: Mapping[str, Callable[[Cell], JsonObject]] = {"concord": around_centre.options}
"""Algorithms with a recipe of their own in mode sound."""


@final
@dataclass(frozen=True)
class TunedOptions(Record):
    """The searched options of algorithms: mode -> data set -> graph -> algorithm -> options."""

    how: str  # how they were found
    modes: Mapping[str, Mapping[str, Mapping[str, Mapping[str, JsonObject]]]] = others()

    def of(self, cell: Cell, mode: str) -> JsonObject:
        """The options of a cell; none if nothing was searched for it."""
        by_graph = self.modes.get(mode, {}).get(cell.dataset, {})
        return by_graph.get(cell.graph, {}).get(cell.algorithm, {})


def experiment(cell: Cell, mode: str, seed: int) -> Experiment:
    """What is run for a cell."""
    if mode not in MODES:
        raise unknown("mode", mode, MODES)
    if not is_in_mode(cell, mode):
        raise InputError(WITHOUT)
    given: JsonObject = {**DEFAULTS[mode], **cell._asdict(), "eval_every": 50}
    given |= {"algorithm": _algorithm(cell, mode), "seed": seed}
    given |= tuned().of(cell, mode)
    if cell.algorithm in OWN:
        given |= OWN[cell.algorithm](cell)
    preset = None
    if mode == AS_PUBLISHED:
        preset = mode
        given |= {"lr": _published_step(cell), **OTHERS.get(cell.algorithm, {})}
    name = str(given["algorithm"])
    kept = {key: value for key, value in given.items() if has_option(name, key)}
    return load(None, preset, kept).resolved()


def _algorithm(cell: Cell, mode: str) -> str:
    """What runs for a cell: in mode sound, the variant of DPDL whose epsilon is proven."""
    proven = mode == SOUND and cell.algorithm == "dpdl"
    return "dpdl-sound" if proven else cell.algorithm


def _published_step(cell: Cell) -> float:
    step = STEP[cell.dataset]
    carries = has_option(cell.algorithm, "momentum")
    return step if carries else round(step / (1 - MOMENTUM), 4)


def is_in_mode(cell: Cell, mode: str) -> bool:
    """Whether a cell exists in a mode."""
    if cell.algorithm in BEYOND:
        return mode == BEYOND[cell.algorithm]
    return mode != ALGORITHM1 or cell.algorithm == "dpdl"


def untuned(cell: Cell, mode: str, table: TunedOptions | None = None) -> bool:
    """Whether a mode that needs a step size of its own has none for a cell.

    `table` stands in for `tuned.json`.
    """
    if mode == AS_PUBLISHED or cell.algorithm in OWN:
        return False
    return not (table or tuned()).of(cell, mode)


@cache
def tuned() -> TunedOptions:
    """The content of `tuned.json`."""
    text = files(__package__).joinpath("tuned.json").read_text("utf-8")
    return TunedOptions.from_json(json.loads(text), "tuned.json")


@final
@dataclass(frozen=True)
class Recipes:
    """Where the experiments of cells come from."""

    experiment: Callable[[Cell, str, int], Experiment] = experiment
    untuned: Callable[[Cell, str], bool] = untuned


PAPER = Recipes()
