"""Curves of runs, small enough to be kept beside their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dpdl.folder.cell_results import Curve

MOST = 40
"""Rounds of one curve; a recipe evaluates about 20."""
Item = TypeVar("Item")


def curve_of(metrics: Sequence[Mapping[str, Any]]) -> Curve | None:
    """Training losses and the accuracy of the average model, over rounds that were evaluated.

    Losses have four digits after the point, accuracies are in percent with two. None when nothing
    was evaluated.
    """
    kept = thinned(metrics)
    if not kept:
        return None
    losses = [m["train_loss"] for m in kept]
    accuracies = [m["accuracy"]["average_model"] for m in kept]
    return Curve(
        rounds=tuple(m["round"] for m in kept),
        loss=tuple(_short(loss["mean"]) for loss in losses),
        lowest=tuple(_short(loss["min"]) for loss in losses),
        highest=tuple(_short(loss["max"]) for loss in losses),
        accuracy=tuple(round(100 * share, 2) for share in accuracies),
    )


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def thinned(items: Sequence[Item], most: int = MOST) -> list[Item]:
    """At most so many of them, evenly spaced, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[k * (len(items) - 1) // (most - 1)] for k in range(most)]
