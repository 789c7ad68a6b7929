"""Curves of runs, small enough to be kept beside their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 40
"""Rounds of one curve; a recipe evaluates about 20."""

Curve = dict[str, list[Any]]


def curve_of(metrics: Sequence[Mapping[str, Any]]) -> Curve | None:
    """Training loss over rounds, the mean of the agents with the lowest and the highest.

    Accuracy of the average model.

    Losses have 4 digits after the point, or are None where no agent had a finite one; accuracies
    are in percent. None when nothing was evaluated.
    """
    kept = _thinned(metrics)
    if not kept:
        return None
    losses = {
        name: [_short(m["train_loss"][of]) for m in kept] for name, of in LOSSES.items()
    }
    accuracies = [round(100 * m["accuracy"]["average_model"], 2) for m in kept]
    return {"rounds": [m["round"] for m in kept], **losses, "accuracy": accuracies}


LOSSES = {"loss": "mean", "lowest": "min", "highest": "max"}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _thinned(metrics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most `MOST` of them, evenly, with the first and the last."""
    if len(metrics) <= MOST:
        return list(metrics)
    return [metrics[k * (len(metrics) - 1) // (MOST - 1)] for k in range(MOST)]
