"""Trackers of experiments, by the names that `--track` knows them by.

This room knows of ours only how to say what is missing. `dpdl.folder` tells trackers about a run,
and keeps what they call it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpdl.errors import InputError
from dpdl.extras import is_installed, remedy
from dpdl.trackers.base import Destination, Environment, Service
from dpdl.trackers.mlflow import Mlflow
from dpdl.trackers.trackio import Trackio
from dpdl.trackers.wandb import Wandb

Trackers = Mapping[str, Service]
TRACKERS: Trackers = {
    "wandb": Wandb(),
    "mlflow": Mlflow(),
    "trackio": Trackio(),
}


def require(name: str, environment: Environment) -> None:
    """Refuse a tracker whose libraries are not installed; none of them is imported for it."""
    for library in TRACKERS[name].libraries(environment):
        if not is_installed(library):
            raise InputError(f"--track {name} cannot be used: {remedy(library)}.")


def disclosure(name: str, at: Destination) -> str:
    """What a person should know before a tracker sends metrics away."""
    return (
        f"{name} sends options, losses and scores to {at.where}; they are computed without "
        "noise, and no epsilon covers them."
    )
