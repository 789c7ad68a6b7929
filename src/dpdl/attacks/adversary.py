"""The adversary: images from a recording. What else it knows is named by its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dpdl.attacks.inverting import Found, Problem, Settings, deep_leakage, invert
from dpdl.attacks.labels import recovered
from dpdl.attacks.peel import able, peel
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.recorded import Recording
from dpdl.attacks.targets import AttackCase, Target, target
from dpdl.attacks.workers import ShareWatch
from dpdl.errors import InputError, unknown
from dpdl.tasks.dropout import key_dropout
from dpdl.tasks.fused.network import Network, understand

DEFAULTS = {
    "peel": (300, 16),
    "inverting": (1000, 4),
    "dlg": (300, 4),
    "idlg": (300, 4),
}
"""Iterations and restarts. Peeling gains more from other starts than from more steps."""
Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Rebuilt = tuple[Array, Array, Labels]
"""Images (agents, batch, C, H, W), how well each agent's fit, and the labels that were read off."""


def network_of(recording: Recording) -> Network | None:
    """The layers of the model; None when they are not known one by one."""
    return understand(
        key_dropout(recording.task.module(recording.task.initial)), recording.shape
    )


def method_of(recording: Recording, method: str, batch: int) -> str:
    """`auto` peels single images where the network allows it."""
    if method != "auto" and method not in DEFAULTS:
        raise unknown("method", method, ["auto", *DEFAULTS])
    peels = batch == 1 and able(network_of(recording))
    if method == "peel" and not peels:
        raise InputError(
            "Method 'peel' reads single images off convolutions with ReLU followed by "
            "linear layers; take 'inverting'."
        )
    return ("peel" if peels else "inverting") if method == "auto" else method


def rebuild(
    folder: Path,
    module: nn.Module | None,
    case: AttackCase,
    agents: Sequence[int],
    batch: int,
    labels: Labels | None,
    pixels: Pixels,
    method: str,
    settings: Settings,
    watch: ShareWatch,
    aim: Callable[[Recording, str, int, int | None, int], Target] = target,
) -> Rebuilt:
    """What the adversary makes of some agents' messages.

    `labels` (agents, batch) are those the adversary knows; None: it takes those that it reads off.
    `aim` reads off a recording what is to be inverted.
    """
    recording = Recording(folder, module)
    targets = [
        aim(recording, case.scenario, case.round, case.batch, agent) for agent in agents
    ]
    problem = Problem.of(recording.task, targets, recording.shape)
    read = recovered(problem, batch, settings.seed)
    known = read if labels is None else torch.from_numpy(labels)
    if known is None:
        raise InputError(
            "Labels cannot be recovered: the model's last layer has no bias; attack "
            "with known ones."
        )
    found = _invert(recording, problem, known, pixels, method, settings, watch)
    none = torch.zeros(len(agents), 0, dtype=torch.int64)
    # A search may end nowhere, for instance at a model that diverged.
    images = pixels.clamp(found.images.nan_to_num(0.0))
    objective = found.objective.nan_to_num(math.inf)
    return images.numpy(), objective.numpy(), (none if read is None else read).numpy()


def _invert(
    recording: Recording,
    problem: Problem,
    labels: Tensor,
    pixels: Pixels,
    method: str,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    match method:
        case "peel":
            network = network_of(recording)
            assert network
            return peel(problem, network, labels, pixels, settings, watch)
        case "inverting":
            return invert(problem, labels, pixels, settings, watch)
        case _:
            return deep_leakage(
                problem,
                labels if method == "idlg" else None,
                labels.shape[1],
                settings,
                watch,
            )
