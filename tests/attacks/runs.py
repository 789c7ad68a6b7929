"""A small recorded run without any protection."""

from __future__ import annotations

from pathlib import Path

import dpdl
from dpdl.training.recording import RecordingRequest

OPTIONS = {
    "dataset": "digits",
    "graph": "ring",
    "agents": 3,
    "rounds": 3,
    "batch": 16,
    "noise": "none",
    "clip_unit": "none",
}


def record_digits(path: Path) -> Path:
    """Three agents, three rounds; the second is recorded, also with batches of 1 and 2."""
    experiment = dpdl.Experiment(**OPTIONS)
    dpdl.train(experiment, out=path, record=RecordingRequest((2,), (1, 2)))
    return path
