"""How far epsilon covers what a page shows of a run, and which of its settings anybody may see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PLACES = ("dataset", "model", "graph")
"""Settings that may be the path of a file; anybody may see its name, not where it is."""
OPEN = (
    *PLACES,
    *("agents", "weights", "partition", "alpha_d", "records", "classes_per_agent", "algorithm", "rounds", "batch"),
    *("sampling",),
    *("lr", "lr_decay", "lr_decay_every", "weight_decay", "momentum", "alpha", "cosine", "correlation", "local_steps"),
    *("gossip_steps", "margin", "qp", "data_share", "tracking", "sam_radius", "permutations", "validation", "compress"),
    *("clip", "clip_unit", "chunks", "noise", "noise_split", "sigma", "epsilon", "delta", "threat", "relation"),
    *("budget", "c2", "h", "randomness", "dtype", "average", "eval_every", "checkpoint_every"),
)
"""Settings that anybody may see, because a person chose them. One that is not named here stays private."""
FOLDER = (
    "metrics.jsonl and summary.json: training losses, shares of clipped gradients, gradients that were not finite, "
    "cosines and coefficients. They are computed from records without noise.",
    "state.safetensors: models and momenta. With dpdl a momentum carries a gradient without noise.",
    "experiment.json: the seed, from which a reproducible run draws batches and noise, and a hash of the data, which "
    "confirms a guess of them.",
    "summary.json and ledger.jsonl: the numbers of records that agents declared, which makes them public.",
    "training.png: a curve of the training loss. timing.json: a larger batch takes longer, and its size is private.",
    "recording and attack, if they are there: what left, and what was rebuilt from it beside the records themselves.",
)


def open_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What anybody may see, in our order."""
    found = {name: settings[name] for name in OPEN if name in settings}
    return {name: file_name(value) if name in PLACES and value else value for name, value in found.items()}


def closed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The others, and where files are."""
    shown = open_settings(settings)
    return {name: value for name, value in settings.items() if name not in shown or shown[name] != value}


def file_name(text: str) -> str:
    """A name, or the last part of a path."""
    return Path(text).name or text


def alarms(summary: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Why epsilon covers nothing of a run, if so."""
    found = []
    if settings.get("randomness") != "secure":
        found.append(
            "Nothing here is covered if somebody knows the seed: this run draws its noise from it. It is a simulation."
        )
    if _of_models(summary) is None:
        found.append("Nothing here is covered: nothing is proven about the models of this run.")
    return found


def limits(summary: Mapping[str, Any]) -> list[str]:
    """How far epsilon covers what is computed from the models of a run."""
    epsilon = _of_models(summary)
    known = f" (epsilon {epsilon:.4g})" if epsilon is not None else ", of which nothing is proven"
    return [
        "Test accuracies are computed from the models. About training records they tell no more than the models do"
        f"{known}. Nothing protects the test records.",
        "Numbers of records: epsilon, and a noise multiplier that the accountant chose, are computed from them.",
        "Other runs on the same records, also those that were thrown away, and choices made by looking at results.",
    ]


def _of_models(summary: Mapping[str, Any]) -> float | None:
    """The epsilon against somebody who sees the models; None when there is none."""
    epsilon = summary["epsilon"].get("final_model")
    return epsilon if isinstance(epsilon, int | float) else None
