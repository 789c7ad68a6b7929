"""How far epsilon covers what a page shows of a run, and which of its settings anybody may see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.options import FLAT, options_of
from dpdl.folder.summary import Summary
from dpdl.pages.alarms import Alarm
from dpdl.privacy.threats import FINAL_MODEL
from dpdl.records import Json, JsonObject

PLACES = ("dataset", "model", "graph")
"""Settings that may be the path of a file; anybody may see its name, not where it is."""
OPEN = (
    *PLACES,
    "shape",
    "scaling",
    "predict",
    "loss",
    "score",
    "agents",
    "weights",
    "partition",
    "alpha_d",
    "records",
    "classes_per_agent",
    "algorithm",
    "rounds",
    "batch",
    "rate",
    "centre",
    "centre_noise",
    "sampling",
    "compress",
    "clip",
    "clip_unit",
    "chunks",
    "noise",
    "sigma",
    "epsilon",
    "delta",
    "threat",
    "relation",
    "budget",
    "c2",
    "h",
    "randomness",
    "dtype",
    "average",
    "eval_every",
    "checkpoint_every",
)
"""Shared options that anybody may see: a person chose them, as those of algorithms.

All other settings stay private.
"""
FOLDER = (
    "metrics.jsonl and summary.json: training losses, shares of clipped gradients, "
    "gradients that were not finite, lengths of gradients, cosines and coefficients. "
    "They are computed from records without noise.",
    "state.safetensors: models and momenta. With dpdl a momentum carries a gradient "
    "without noise.",
    "experiment.json: the seed, from which a reproducible run draws batches and noise, "
    "and a hash of the data, which confirms a guess of them.",
    "partition.json: how many records of each class each agent holds, counted without "
    "noise.",
    "summary.json and ledger.jsonl: the numbers of records that agents declared, which "
    "makes them public.",
    "training.png: a curve of the training loss. timing.json: a larger batch takes "
    "longer, and its size is private.",
    "recording and attack, if they are there: what left, and what was rebuilt from it "
    "beside the records themselves.",
)


def open_settings(settings: Mapping[str, Json]) -> JsonObject:
    """The settings of a run that anybody may see, in the order of `OPEN`."""
    names = [*OPEN, *_of_algorithm(settings)]
    found = {name: settings[name] for name in names if name in settings}
    return {
        name: _without_folder(value) if _may_be_a_path(name) else value
        for name, value in found.items()
    }


def _of_algorithm(settings: Mapping[str, Json]) -> list[str]:
    """The options of the algorithm.

    Where it is not installed here: only those that all algorithms of dpdl 0.1 shared.
    """
    try:
        own = options_of(str(settings.get("algorithm")))
    except InputError:
        return list(FLAT)
    return [*FLAT, *(name for name in own if name not in FLAT)]


def _may_be_a_path(name: str) -> bool:
    """An option of an algorithm may name a file, too."""
    return name in PLACES or name not in OPEN


def _without_folder(value: Json) -> Json:
    return file_name(value) if isinstance(value, str) else value


def closed_settings(settings: Mapping[str, Json]) -> JsonObject:
    """The other settings, and those that name a file with its folder."""
    shown = open_settings(settings)
    return {
        name: value
        for name, value in settings.items()
        if name not in shown or shown[name] != value
    }


def tested_in_private(settings: Mapping[str, Json]) -> bool:
    """Whether models were tested on private records: at sites without public test records."""
    return bool(settings.get("sites")) and not settings.get("test")


def file_name(text: str) -> str:
    """A name, or the last part of a path."""
    return Path(text).name or text


def alarms(summary: Summary, settings: Mapping[str, Json]) -> list[Alarm]:
    """Why epsilon covers nothing of a run, if so."""
    found = []
    if _of_models(summary) is None:
        text = (
            "Nothing here is covered: nothing is proven about the models of this run."
        )
        found.append(Alarm(text, "No privacy"))
    if settings.get("randomness") != "secure":
        text = (
            "Nothing here is covered if somebody knows the seed: this run draws its "
            "noise from it. It is a simulation."
        )
        found.append(Alarm(text, "A simulation: it protects nobody"))
    return found


def limits(summary: Summary) -> list[str]:
    """How far epsilon covers what is computed from the models of a run."""
    epsilon = _of_models(summary)
    known = (
        f" (epsilon {epsilon:.4g})"
        if epsilon is not None
        else ", of which nothing is proven"
    )
    return [
        "Test accuracies are computed from the models. About training records they "
        f"tell no more than the models do{known}. Nothing protects the test records.",
        "Numbers of records: epsilon, and a noise multiplier that the accountant "
        "chose, are computed from them.",
        "Other runs on the same records, also those that were thrown away, and choices "
        "made by looking at results.",
    ]


def _of_models(summary: Summary) -> float | None:
    """The epsilon against somebody who sees the models; None when there is none."""
    return summary.epsilon.against(FINAL_MODEL).finite
