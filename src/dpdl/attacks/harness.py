"""Attack a recorded run and score the result. The adversary's part sees a `View`; only scoring knows the records.

Results are kept in the run folder under `attack/`, one file per case, and are not computed twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dpdl.attacks.adversary import USUAL, method_of, rebuild
from dpdl.attacks.inverting import Settings, check
from dpdl.attacks.metrics import match, pixels_of
from dpdl.attacks.targets import Case
from dpdl.attacks.view import View
from dpdl.attacks.workers import Watch, Workers
from dpdl.errors import InputError
from dpdl.run.files import write
from dpdl.run.plan import Plan
from dpdl.run.record import FOLDER, with_batches_of
from dpdl.run.train import replan
from dpdl.tasks import features
from dpdl.tasks.data import Dataset

TOGETHER = 5  # targets in one optimisation


@final
@dataclass(frozen=True)
class Effort:
    """How to attack; None: what is usual for the method."""

    method: str = "auto"
    iterations: int | None = None
    restarts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "restarts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {value}.")

    def settings(self, method: str) -> Settings:
        """For one of the methods."""
        iterations, restarts = USUAL[method]
        return Settings(self.iterations or iterations, self.restarts or restarts, seed=self.seed)


@final
@dataclass(frozen=True)
class Outcome:
    """What came out of a case: reconstructions and truth, image by image in the same order, normalised."""

    case: Case
    method: str
    found: Tensor  # (targets, batch, C, H, W)
    truth: Tensor
    read_labels: Tensor  # (targets, batch), read off the last layer; (targets, 0) if it cannot be
    true_labels: Tensor
    objective: Tensor

    def __repr__(self) -> str:
        return f"Outcome({self.case}, {self.method}, {len(self.truth)} targets)"


def attack(
    run_dir: Path,
    cases: Sequence[Case],
    effort: Effort | None = None,
    agents: Sequence[int] | None = None,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    workers: Workers | None = None,
    watch: Callable[[Case], Watch] = lambda case: lambda share: None,
) -> tuple[list[Outcome], Plan]:
    """All cases, those that were done before from their files."""
    view = View(run_dir / FOLDER, model)
    plan = replan(run_dir, data=data, model=model)
    if not plan.grad.randomness.repeatable:
        raise InputError("A run with secure randomness cannot be scored: nobody knows any more which records it used.")
    if model is None and view.options["model"] in features.MODELS:
        raise InputError(
            f"Model {view.options['model']} sees features, not pixels; pictures from features are not attempted. "
            "Features hide nothing: the gradient of a linear layer gives those of a single record away exactly."
        )
    chosen = list(range(len(view.W))) if agents is None else list(agents)
    for agent in chosen:
        if not 0 <= agent < len(view.W):
            raise InputError(f"Agent {agent} cannot be attacked: the run has agents 0 to {len(view.W) - 1}.")
    check(view.task, view.shape, view.facts["classes"])
    effort, outcomes = effort or Effort(), []
    for case in cases:
        path = run_dir / "attack" / f"{_name(case, effort, chosen)}.safetensors"
        if not path.exists():
            outcome = _play(view, plan, case, effort, chosen, workers or Workers(), watch(case))
            path.parent.mkdir(exist_ok=True)
            write(path, _packed(outcome))
        outcomes.append(_unpacked(path, case))
    return outcomes, plan


def truth_of(plan: Plan, case: Case, agent: int) -> tuple[Tensor, Tensor]:
    """The records that the attacked message is about: the experimenter knows them, no adversary does."""
    played = plan if case.batch is None else with_batches_of(plan, case.batch)
    batch = played.batches(torch.tensor([agent]), case.round)[0]
    return batch.x.float(), batch.y


def _play(
    view: View,
    plan: Plan,
    case: Case,
    effort: Effort,
    agents: Sequence[int],
    workers: Workers,
    watch: Watch,
) -> Outcome:
    truths = [truth_of(plan, case, agent) for agent in agents]
    smallest = min(len(y) for _, y in truths)
    if smallest == 0:
        raise InputError(f"In round {case.round} an attacked agent had an empty batch; attack other agents or rounds.")
    truth = torch.stack([x[:smallest] for x, _ in truths])
    true_labels = torch.stack([y[:smallest] for _, y in truths])
    method, pixels = method_of(view, effort.method, smallest), pixels_of(plan.data)
    settings = effort.settings(method)
    pieces = []
    for k in range(0, len(agents), TOGETHER):
        some = slice(k, k + TOGETHER)
        labels = true_labels[some].numpy() if case.labels == "known" else None
        pieces.append((view.folder, view.module, case, agents[some], smallest, labels, pixels, method, settings))
    parts = zip(*workers.each(rebuild, pieces, watch), strict=True)
    images, objective, read = (torch.from_numpy(np.concatenate(of)) for of in parts)
    found = torch.stack([one[match(one, its)] for one, its in zip(images, truth, strict=True)])
    return Outcome(case, method, found, truth, read, true_labels, objective)


# ------------------------------------------------------------------ files
def _name(case: Case, effort: Effort, agents: Sequence[int]) -> str:
    what = json.dumps([case, asdict(effort), list(agents)], sort_keys=True)
    size = "own" if case.batch is None else f"b{case.batch}"
    return f"{case.scenario}-{case.round:06d}-{size}-{hashlib.blake2b(what.encode(), digest_size=6).hexdigest()}"


def _packed(outcome: Outcome) -> bytes:
    names = ("found", "truth", "read_labels", "true_labels", "objective")
    return save({name: getattr(outcome, name).contiguous().clone() for name in names}, {"method": outcome.method})


def _unpacked(path: Path, case: Case) -> Outcome:
    with safe_open(path, "pt") as file:
        method = file.metadata()["method"]
    return Outcome(case, method, **load_file(path))
