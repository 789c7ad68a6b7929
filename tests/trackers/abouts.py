"""A run as a tracker is told about it, made up."""

from __future__ import annotations

from pathlib import Path

from dpdl.trackers.base import About

OPTIONS = {"algorithm": "dpdl", "rounds": 8, "lr": 0.1, "budget": None, "secure": False}
ROUNDS = {
    t: {
        "accuracy/mean": 1 - 1 / (3 * t),
        "train_loss/mean": 1 / 3 / t,
        "seconds": t / 4,
    }
    for t in (1, 2, 4)
}
SUMMARY = {"epsilon/neighbour": 3.5, "epsilon/final_model": "unbounded", "rounds": 8}
BEGAN = 1_700_000_000.25


def about(home: Path, **more: object) -> About:
    """`home` is the tracker's folder in the run folder, which is made."""
    home.mkdir(parents=True, exist_ok=True)
    given = {"options": OPTIONS, **more}
    return About(name="ring", home=home, began=BEGAN, **given)
