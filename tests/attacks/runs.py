"""Small recorded runs without any protection."""

from __future__ import annotations

from pathlib import Path

import torch

import dpdl
from dpdl.training.recording import RecordingRequest, with_batches_of

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


def record_clear(path: Path) -> tuple[Path, dpdl.Result]:
    """DPDL of four agents without noise and clipping: what was sent can be computed anew."""
    options = {**OPTIONS, "agents": 4, "rounds": 4, "seed": 3, "lr": 0.05}
    request = RecordingRequest((3,), (1, 2))
    experiment = dpdl.Experiment(**options, algorithm="dpdl")
    return path, dpdl.train(experiment, out=path, record=request)


def gradient(
    result: dpdl.Result, model: torch.Tensor, agent: int, size: int, t: int
) -> torch.Tensor:
    """Of the records that an agent used when round t was played with batches of a size."""
    site = with_batches_of(result.plan.everybody, size)
    batch = site.batches(torch.tensor([agent]), t)[0]
    assert len(batch.y) == size
    return site.grad.mechanism.gradient(site.plan.task, model, batch).gradient
