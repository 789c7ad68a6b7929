"""The adversary: images from a recording, and what else it knows (`Knowledge`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dpdl.attacks.effort import check_method
from dpdl.attacks.inverting import Found, Problem, Settings, deep_leakage, invert
from dpdl.attacks.labels import recovered
from dpdl.attacks.peel import able, peel
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, Target, target
from dpdl.attacks.unscatter import unscatter
from dpdl.attacks.workers import ShareWatch
from dpdl.errors import InputError
from dpdl.tasks.dropout import key_dropout
from dpdl.tasks.fused.network import Network, understand
from dpdl.tasks.models import ON_FEATURES, ON_SCATTERING

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Knowledge:
    """All that the adversary has and knows; it can be pickled."""

    folder: Path  # of the recording
    module: nn.Module | None  # in place of the model that the recording names
    case: AttackCase
    agents: tuple[int, ...]  # whose records it wants
    batch: int  # how many records each message is about
    labels: Labels | None  # (agents, batch); None: it takes those that it reads off
    pixels: Pixels
    method: str
    settings: Settings
    shape: tuple[int, ...] | None = None  # of an image; None: of what the model sees


class Rebuilt(NamedTuple):
    """What the adversary made of the messages of some agents."""

    images: Array  # (agents, batch, C, H, W)
    objective: Array  # (agents,), how well they fit
    labels: Labels  # (agents, batch), read off the last layer; or (agents, 0)


Aim = Callable[[Recording, str, int, int | None, int], Target]
"""Reads off a recording what is to be inverted: `scenarios.target`."""


def network_of(recording: Recording) -> Network | None:
    """The layers of the model; None when they are not known one by one."""
    task = recording.task
    return understand(key_dropout(task.module(task.initial)), recording.shape)


def sees_features(recording: Recording) -> bool:
    """Whether the model sees features of images, not their pixels."""
    return recording.module is None and recording.facts.model in ON_FEATURES


def method_of(recording: Recording, method: str, batch: int) -> str:
    """`auto` reads single images off where the network allows it."""
    check_method(method)
    scattered = sees_features(recording)
    possible = batch == 1 and able(network_of(recording))
    best = "unscatter" if scattered else "peel"
    if scattered and recording.facts.model not in ON_SCATTERING:
        possible = False
    if scattered and not (possible and method in ("auto", best)):
        raise InputError(
            f"Model {recording.facts.model} sees features, not pixels: method "
            f"'{best}' rebuilds single images of scatter-linear; other models and "
            "larger batches on features are not attempted."
        )
    if method in ("peel", "unscatter") and not (possible and method == best):
        raise InputError(
            f"Method '{method}' reads single images off "
            f"{READ_OFF[method]}; take 'inverting'."
        )
    if method == "auto":
        return best if possible else "inverting"
    return method


READ_OFF = {
    "peel": "convolutions with ReLU followed by linear layers",
    "unscatter": "a linear layer on scattering features",
}


def rebuild(known: Knowledge, watch: ShareWatch, aim: Aim = target) -> Rebuilt:
    """What the adversary makes of some agents' messages."""
    recording = Recording(known.folder, known.module)
    case = known.case
    targets = [
        aim(recording, case.scenario, case.round, case.batch, agent)
        for agent in known.agents
    ]
    problem = Problem.of(recording.task, targets, recording.shape)
    read = recovered(problem, known.batch, known.settings.seed)
    labels = read if known.labels is None else torch.from_numpy(known.labels)
    if labels is None:
        raise InputError(
            "Labels cannot be recovered: the model's last layer has no bias; attack "
            "with known ones."
        )
    found = _invert(recording, problem, labels, known, watch)
    none = torch.zeros(len(targets), 0, dtype=torch.int64)
    # A search may end nowhere, for instance at a model that diverged.
    images = known.pixels.clamp(found.images.nan_to_num(0.0))
    objective = found.objective.nan_to_num(math.inf)
    readable = none if read is None else read
    return Rebuilt(images.numpy(), objective.numpy(), readable.numpy())


def _invert(
    recording: Recording,
    problem: Problem,
    labels: Tensor,
    known: Knowledge,
    watch: ShareWatch,
) -> Found:
    pixels, settings = known.pixels, known.settings
    match known.method:
        case "peel":
            network = network_of(recording)
            assert network
            return peel(problem, network, labels, pixels, settings, watch)
        case "unscatter":
            network = network_of(recording)
            assert network and known.shape
            shape = known.shape
            return unscatter(problem, network, shape, pixels, settings, watch)
        case "inverting":
            return invert(problem, labels, pixels, settings, watch)
        case "idlg":
            return deep_leakage(problem, labels, labels.shape[1], settings, watch)
        case _:
            return deep_leakage(problem, None, labels.shape[1], settings, watch)
