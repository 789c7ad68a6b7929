"""Curves of runs, small enough to be kept beside their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from dpdl.folder.cell_results import Curve
from dpdl.folder.metrics import Metrics

MOST = 40
"""Rounds of one curve; a recipe evaluates about 20."""
Item = TypeVar("Item")


def curve_of(metrics: Sequence[Metrics]) -> Curve | None:
    """Training losses and the accuracy of the average model, over rounds that were evaluated.

    Losses have four digits after the point, accuracies are in percent with two. None when nothing
    was evaluated.
    """
    kept = evenly_spaced(metrics)
    if not kept:
        return None
    losses = [one.train_loss for one in kept]
    return Curve(
        rounds=tuple(one.round for one in kept),
        loss=tuple(_short(loss.mean) for loss in losses),
        lowest=tuple(_short(loss.min) for loss in losses),
        highest=tuple(_short(loss.max) for loss in losses),
        accuracy=tuple(percent(one.score.average_model) for one in kept),
    )


def percent(share: float) -> float:
    """A share of 1 in percent, with two digits after the point."""
    return round(100 * share, 2)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def evenly_spaced(items: Sequence[Item], most: int = MOST) -> list[Item]:
    """At most so many of them, evenly spaced, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[k * (len(items) - 1) // (most - 1)] for k in range(most)]
