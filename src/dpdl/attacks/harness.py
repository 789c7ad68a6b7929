"""Attack a recorded run and score the result.

The adversary's part sees a `Recording`; only scoring knows the records.

Results are kept in the run folder under `attack/`, one file per case, and are not computed twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dpdl.attacks.adversary import DEFAULTS, Rebuilt, method_of, rebuild
from dpdl.attacks.inverting import Settings, check
from dpdl.attacks.metrics import match, pixels_of
from dpdl.attacks.recorded import Recording
from dpdl.attacks.targets import AttackCase
from dpdl.attacks.workers import ShareWatch, Workers
from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.files import write
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan
from dpdl.tasks import features
from dpdl.tasks.data import Dataset
from dpdl.training.recording import with_batches_of
from dpdl.training.train import replan

TOGETHER = 5  # targets in one optimisation


@final
@dataclass(frozen=True)
class Effort:
    """How to attack; None: the default of the method."""

    method: str = "auto"
    iterations: int | None = None
    restarts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "restarts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(
                    f"{name} must be a whole number of at least 1, not {value}."
                )

    def settings(self, method: str) -> Settings:
        """For one of the methods."""
        iterations, restarts = DEFAULTS[method]
        return Settings(
            self.iterations or iterations, self.restarts or restarts, seed=self.seed
        )


@final
@dataclass(frozen=True)
class Reconstructions:
    """What came out of a case.

    Reconstructions and truth, image by image in the same order, normalised.
    """

    case: AttackCase
    method: str
    found: Tensor  # (targets, batch, C, H, W)
    truth: Tensor
    read_labels: Tensor  # (targets, batch), read off the last layer; or (targets, 0)
    true_labels: Tensor
    objective: Tensor

    def __repr__(self) -> str:
        return f"Reconstructions({self.case}, {self.method}, {len(self.truth)} targets)"


def attack(
    run_dir: Path,
    cases: Sequence[AttackCase],
    effort: Effort | None = None,
    agents: Sequence[int] | None = None,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    workers: Workers | None = None,
    together: int = TOGETHER,
    rebuild: Callable[..., Rebuilt] = rebuild,
    watch: Callable[[AttackCase], ShareWatch] = lambda case: lambda share: None,
) -> tuple[list[Reconstructions], Plan]:
    """All cases, those that were done before from their files.

    `together` targets are one piece of work for one of the workers, who `rebuild` it.
    """
    folder = RunFolder(run_dir)
    recording = Recording(folder.recording, model)
    plan = replan(run_dir, data=data, model=model)
    if not plan.randomness.repeatable:
        raise InputError(
            "A run with secure randomness cannot be scored: nobody knows any more "
            "which records it used."
        )
    if model is None and recording.options["model"] in features.MODELS:
        raise InputError(
            f"Model {recording.options['model']} sees features, not pixels; pictures "
            "from features are not attempted. Features hide nothing: the gradient of a "
            "linear layer gives those of a single record away exactly."
        )
    chosen = list(range(len(recording.W))) if agents is None else list(agents)
    for agent in chosen:
        if not 0 <= agent < len(recording.W):
            raise InputError(
                f"Agent {agent} cannot be attacked: the run has agents 0 to "
                f"{len(recording.W) - 1}."
            )
    check(recording.task, recording.shape, recording.facts["classes"])
    effort, outcomes = effort or Effort(), []
    for case in cases:
        path = folder.attack / names.reconstructions_of(_name(case, effort, chosen))
        if not path.exists():
            pieces = _Pieces(workers or Workers(), together, rebuild)
            outcome = _play(recording, plan, case, effort, chosen, pieces, watch(case))
            path.parent.mkdir(exist_ok=True)
            write(path, _packed(outcome))
        outcomes.append(_unpacked(path, case))
    return outcomes, plan


def truth_of(plan: Plan, case: AttackCase, agent: int) -> tuple[Tensor, Tensor]:
    """The records that the attacked message is about.

    The experimenter knows them, no adversary does.
    """
    site = plan.everybody
    played = site if case.batch is None else with_batches_of(site, case.batch)
    batch = played.batches(torch.tensor([agent]), case.round)[0]
    return batch.x.float(), batch.y


@final
@dataclass(frozen=True)
class _Pieces:
    """How the targets of a case are shared among workers."""

    workers: Workers
    together: int  # targets of one piece
    work: Callable[..., Rebuilt]

    def rebuild(
        self,
        targets: int,
        piece: Callable[[slice], tuple[Any, ...]],
        watch: ShareWatch,
    ) -> list[Rebuilt]:
        """The results of all pieces; `piece` gives the arguments for some of the targets."""
        size = self.together
        parts = [piece(slice(k, k + size)) for k in range(0, targets, size)]
        return self.workers.each(self.work, parts, watch)


def _play(
    recording: Recording,
    plan: Plan,
    case: AttackCase,
    effort: Effort,
    agents: Sequence[int],
    pieces: _Pieces,
    watch: ShareWatch,
) -> Reconstructions:
    truths = [truth_of(plan, case, agent) for agent in agents]
    smallest = min(len(y) for _, y in truths)
    if smallest == 0:
        raise InputError(
            f"In round {case.round} an attacked agent had an empty batch; attack other "
            "agents or rounds."
        )
    truth = torch.stack([x[:smallest] for x, _ in truths])
    true_labels = torch.stack([y[:smallest] for _, y in truths])
    method, pixels = method_of(recording, effort.method, smallest), pixels_of(plan.data)
    settings = effort.settings(method)
    known = true_labels.numpy() if case.labels == "known" else None

    def piece(some: slice) -> tuple[Any, ...]:
        labels = None if known is None else known[some]
        about = (recording.folder, recording.module, case, agents[some], smallest)
        return (*about, labels, pixels, method, settings)

    parts = zip(*pieces.rebuild(len(agents), piece, watch), strict=True)
    images, objective, read = (torch.from_numpy(np.concatenate(of)) for of in parts)
    found = torch.stack(
        [one[match(one, its)] for one, its in zip(images, truth, strict=True)]
    )
    return Reconstructions(case, method, found, truth, read, true_labels, objective)


# ------------------------------------------------------------------ files
def _name(case: AttackCase, effort: Effort, agents: Sequence[int]) -> str:
    what = json.dumps([case, asdict(effort), list(agents)], sort_keys=True)
    size = "own" if case.batch is None else f"b{case.batch}"
    digest = hashlib.blake2b(what.encode(), digest_size=6).hexdigest()
    return f"{case.scenario}-{case.round:06d}-{size}-{digest}"


def _packed(outcome: Reconstructions) -> bytes:
    parts = ("found", "truth", "read_labels", "true_labels", "objective")
    return save(
        {name: getattr(outcome, name).contiguous().clone() for name in parts},
        {"method": outcome.method},
    )


def _unpacked(path: Path, case: AttackCase) -> Reconstructions:
    with safe_open(path, "pt") as file:
        method = file.metadata()["method"]
    return Reconstructions(case, method, **load_file(path))
