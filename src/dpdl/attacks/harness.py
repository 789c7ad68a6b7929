"""Attack a recorded run: what was rebuilt, beside the truth.

The adversary sees a `Recording`; only this module knows the records. Reconstructions are kept in
the run folder under `attack/`, one file per case, and are not computed twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import final

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from dpdl.attacks.adversary import Knowledge, Rebuilt, method_of, rebuild
from dpdl.attacks.effort import Effort
from dpdl.attacks.image_scores import match, pixels_of
from dpdl.attacks.inverting import check_invertible
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.workers import ShareWatch, Workers
from dpdl.errors import InputError, reason
from dpdl.folder import names
from dpdl.folder.files import write
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.tensors import read_tensors
from dpdl.planning.plan import Plan
from dpdl.tasks import data as datasets
from dpdl.tasks import features
from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Classes
from dpdl.training.recording import with_batches_of
from dpdl.training.train import replan

TOGETHER = 5  # targets in one optimisation


@final
@dataclass(frozen=True)
class Reconstructions:
    """What was rebuilt in a case and the truth, image by image in one order, normalised."""

    case: AttackCase
    method: str
    found: Tensor  # (targets, batch, C, H, W)
    truth: Tensor
    read_labels: Tensor  # (targets, batch), read off the last layer; or (targets, 0)
    true_labels: Tensor
    objective: Tensor

    def __repr__(self) -> str:
        return f"Reconstructions({self.case}, {self.method}, {len(self.truth)} targets)"


Rebuild = Callable[[Knowledge, ShareWatch], Rebuilt]
"""The adversary: `adversary.rebuild`."""


def reconstruct(
    run_dir: Path,
    cases: Sequence[AttackCase],
    effort: Effort | None = None,
    agents: Sequence[int] | None = None,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    workers: Workers | None = None,
    together: int = TOGETHER,
    rebuild: Rebuild = rebuild,
    watch: Callable[[AttackCase], ShareWatch] = lambda case: lambda share: None,
) -> tuple[list[Reconstructions], Plan]:
    """All cases, those that were done before from their files.

    `together` targets are one piece of work for one of the workers, who `rebuild` it.
    """
    folder = RunFolder(run_dir)
    recording = Recording(folder.recording, model)
    plan = replan(run_dir, data=data, model=model)
    _refuse_hopeless(plan)
    chosen = recording.chosen(agents)
    check_invertible(recording.task, recording.shape, recording.facts.classes)
    effort, outcomes = effort or Effort(), []
    pieces = _Pieces(workers or Workers(), together, rebuild)
    pictures = pictures_of(plan, data)
    for case in cases:
        path = folder.attack / names.reconstructions_of(_name(case, effort, chosen))
        if not path.exists():
            outcome = _play(
                recording, plan, pictures, case, effort, chosen, pieces, watch(case)
            )
            path.parent.mkdir(exist_ok=True)
            write(path, _packed(outcome))
        outcomes.append(_unpacked(path, case))
    return outcomes, plan


def refuse_other_tasks(plan: Plan) -> None:
    """Refuse runs that do not learn one class per record by cross-entropy."""
    classes = isinstance(plan.public.form.targets, Classes)
    if not classes or not plan.task.is_cross_entropy:
        raise InputError(
            "Attacks are written for one class per record and cross-entropy; this run learns "
            f"{plan.public.form.targets} by {plan.task.loss_name}."
        )


def _refuse_hopeless(plan: Plan) -> None:
    """Refuse runs whose records nobody knows, and other tasks."""
    refuse_other_tasks(plan)
    if not plan.randomness.repeatable:
        raise InputError(
            "A run with secure randomness cannot be scored: nobody knows any more "
            "which records it used."
        )


def pictures_of(plan: Plan, data: Dataset | None = None) -> Dataset:
    """The data set whose records are images; a model on features sees another one.

    `data` is the one that was given to the run as an object, if it was.
    """
    seen = plan.data
    if not seen.name.endswith(features.SUFFIXES):
        return seen
    found = data or datasets.load(plan.experiment.dataset)
    if not torch.equal(found.y, seen.y):
        raise InputError(
            f"The images that {seen.name} was made of are not those of {found.name}; "
            "give the data of the run."
        )
    return found


def truth_of(
    plan: Plan, case: AttackCase, agent: int, pictures: Dataset | None = None
) -> tuple[Tensor, Tensor]:
    """The records that the attacked message is about; their images in `pictures`, if given.

    The experimenter knows them, no adversary does.
    """
    site = plan.everybody
    played = site if case.batch is None else with_batches_of(site, case.batch)
    batch = played.batches(torch.tensor([agent]), case.round)[0]
    if pictures is None or pictures is plan.data:
        return batch.x.float(), batch.y
    rows = torch.from_numpy(played.drawn(agent, case.round))
    return pictures.inputs(pictures.x[rows], torch.float32), batch.y


@final
@dataclass(frozen=True)
class _Pieces:
    """How the targets of a case are shared among workers."""

    workers: Workers
    together: int  # targets of one piece
    work: Rebuild

    def rebuild(self, known: Knowledge, watch: ShareWatch) -> Rebuilt:
        """What all pieces gave, put together."""
        parts = [(part,) for part in self._parts(known)]
        found = self.workers.each(self.work, parts, watch)
        return Rebuilt(*(np.concatenate(of) for of in zip(*found, strict=True)))

    def _parts(self, known: Knowledge) -> Iterator[Knowledge]:
        for k in range(0, len(known.agents), self.together):
            some = slice(k, k + self.together)
            labels = None if known.labels is None else known.labels[some]
            yield replace(known, agents=known.agents[some], labels=labels)


def _play(
    recording: Recording,
    plan: Plan,
    pictures: Dataset,
    case: AttackCase,
    effort: Effort,
    agents: tuple[int, ...],
    pieces: _Pieces,
    watch: ShareWatch,
) -> Reconstructions:
    truths = [truth_of(plan, case, agent, pictures) for agent in agents]
    smallest = min(len(y) for _, y in truths)
    if smallest == 0:
        raise InputError(
            f"In round {case.round} an attacked agent had an empty batch; attack other "
            "agents or rounds."
        )
    truth = torch.stack([x[:smallest] for x, _ in truths])
    true_labels = torch.stack([y[:smallest] for _, y in truths])
    method = method_of(recording, effort.method, smallest)
    known = Knowledge(
        recording.folder,
        recording.module,
        case,
        agents,
        smallest,
        true_labels.numpy() if case.labels == "known" else None,
        pixels_of(pictures),
        method,
        effort.settings(method),
        pictures.shape,
    )
    rebuilt = pieces.rebuild(known, watch)
    images = torch.from_numpy(rebuilt.images)
    pairs = zip(images, truth, strict=True)
    return Reconstructions(
        case,
        method,
        torch.stack([found[match(found, its)] for found, its in pairs]),
        truth,
        torch.from_numpy(rebuilt.labels),
        true_labels,
        torch.from_numpy(rebuilt.objective),
    )


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
    try:
        facts, tensors = read_tensors(path)
        return Reconstructions(case, facts["method"], **tensors)
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise InputError(
            f"File {str(path)!r} is damaged: {reason(failure)}; remove it, and the "
            "attack is done again."
        ) from failure
