"""Attack a recorded run and score the result. The adversary's part sees a `View`; only scoring knows the records.

Results are kept in the run folder under `attack/`, one file per case, and are not computed twice.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dpdl.attacks import labels as recovery
from dpdl.attacks.inverting import Found, Problem, Settings, Watch, check, deep_leakage, invert
from dpdl.attacks.metrics import Score, paired_test, pixels_of, score, trivial
from dpdl.attacks.peel import able, peel
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.targets import target
from dpdl.attacks.view import View
from dpdl.errors import InputError, unknown
from dpdl.run.files import write
from dpdl.run.plan import Plan
from dpdl.run.record import FOLDER, with_batches_of
from dpdl.run.train import replan
from dpdl.tasks.data import Dataset
from dpdl.tasks.fused.network import understand

METHODS = ("auto", "peel", "inverting", "dlg", "idlg")
TOGETHER = 10  # targets in one optimisation


@final
@dataclass(frozen=True)
class Case:
    """One line of the table: a scenario in a round, for batches of a size (None: the run's own)."""

    scenario: str
    round: int
    batch: int | None
    labels: str = "known"  # or "recovered"


@final
@dataclass(frozen=True)
class Outcome:
    """What came out of a case: reconstructions and truth, image by image, normalised."""

    case: Case
    method: str
    found: Tensor  # (targets, batch, C, H, W)
    truth: Tensor
    read_labels: Tensor  # (targets, batch), read off the last layer
    true_labels: Tensor
    objective: Tensor


def attack(
    run_dir: Path,
    cases: Sequence[Case],
    settings: Settings,
    agents: Sequence[int] | None = None,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    watch: Callable[[Case], Watch] = lambda case: lambda done, total: None,
) -> tuple[list[Outcome], Plan]:
    """All cases, those that were done before from their files."""
    view = View(run_dir / FOLDER, model)
    plan = replan(run_dir, data=data, model=model)
    if not plan.grad.randomness.repeatable:
        raise InputError("A run with secure randomness cannot be scored: nobody knows any more which records it used.")
    pixels = pixels_of(plan.data)
    chosen = list(range(len(view.W))) if agents is None else list(agents)
    for agent in chosen:
        if not 0 <= agent < len(view.W):
            raise InputError(f"Agent {agent} cannot be attacked: the run has agents 0 to {len(view.W) - 1}.")
    check(view.task, tuple(view.facts["shape"]), view.facts["classes"])
    outcomes = []
    for case in cases:
        path = run_dir / "attack" / f"{_name(case, settings, chosen)}.safetensors"
        if not path.exists():
            outcome = _play(view, plan, pixels, case, settings, chosen, watch(case))
            path.parent.mkdir(exist_ok=True)
            write(path, _packed(outcome))
        outcomes.append(_unpacked(path, case, settings))
    return outcomes, plan


def truth_of(plan: Plan, case: Case, agent: int) -> tuple[Tensor, Tensor]:
    """The records that the attacked message is about: the experimenter knows them, no adversary does."""
    played = plan if case.batch is None else with_batches_of(plan, case.batch)
    batch = played.batches(torch.tensor([agent]), case.round)[0]
    return batch.x.float(), batch.y


def _play(
    view: View, plan: Plan, pixels: Pixels, case: Case, settings: Settings, agents: Sequence[int], watch: Watch
) -> Outcome:
    truths = [truth_of(plan, case, agent) for agent in agents]
    smallest = min(len(y) for _, y in truths)
    if smallest == 0:
        raise InputError(f"In round {case.round} an attacked agent had an empty batch; attack other agents or rounds.")
    truth = torch.stack([x[:smallest] for x, _ in truths])
    true_labels = torch.stack([y[:smallest] for _, y in truths])
    problem = Problem(
        view.task, [target(view, case.scenario, case.round, case.batch, agent) for agent in agents], view.task_shape
    )
    read = recovery.recovered(problem, smallest, settings.seed)
    known = true_labels if case.labels == "known" else read
    method = method_of(view, settings.method, smallest)
    parts = []
    for start in range(0, len(agents), TOGETHER):
        some = problem.some(slice(start, start + TOGETHER))
        parts.append(_invert(view, some, known[start : start + TOGETHER], pixels, settings, method, watch))
    found = Found(*(torch.cat(of) for of in zip(*parts, strict=True)))
    return Outcome(case, method, found.images, truth, read, true_labels, found.objective)


def method_of(view: View, method: str, batch: int) -> str:
    """`auto` peels single images where the network allows it."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    peels = batch == 1 and able(understand(view.task.module(view.task.initial), view.task_shape))
    if method == "peel" and not peels:
        raise InputError(
            "Method 'peel' reads single images off convolutions with ReLU followed by linear layers; take 'inverting'."
        )
    return ("peel" if peels else "inverting") if method == "auto" else method


def _invert(
    view: View, problem: Problem, labels: Tensor, pixels: Pixels, settings: Settings, method: str, watch: Watch
) -> Found:
    match method:
        case "peel":
            network = understand(view.task.module(view.task.initial), view.task_shape)
            assert network
            return peel(problem, network, labels, pixels, settings, watch)
        case "inverting":
            return invert(problem, labels, pixels, settings, watch)
        case "dlg":
            found = deep_leakage(problem, None, labels.shape[1], settings, watch)
        case _:
            found = deep_leakage(problem, labels, labels.shape[1], settings, watch)
    return found._replace(images=pixels.clamp(found.images.nan_to_num(0.0)))


# ------------------------------------------------------------------ tables
def row_of(outcome: Outcome, pixels: Pixels, mean_image: Tensor) -> dict[str, Any]:
    """Medians over all images, and whether they beat the best trivial reconstruction."""
    scores = scores_of(outcome, pixels)
    best = best_trivial(outcome, pixels, mean_image)
    numbers = [s.numbers() for s in scores]
    medians = {name: statistics.median(n[name] for n in numbers) for name in numbers[0]}
    return {
        "scenario": outcome.case.scenario,
        "round": outcome.case.round,
        "batch": int(outcome.truth.shape[1]),
        **medians,
        "label_recovery": recovery.rate(outcome.read_labels, outcome.true_labels),
        "labels": outcome.case.labels,
        "method": outcome.method,
        "images": len(scores),
        "best_trivial": best[0],
        "best_trivial_mse": statistics.median(s.mse for s in best[1]),
        "p_better_than_trivial": paired_test([s.mse for s in scores], [s.mse for s in best[1]]),
    }


def scores_of(outcome: Outcome, pixels: Pixels) -> list[Score]:
    """Every image's score, batch by batch."""
    pairs = zip(outcome.found, outcome.truth, strict=True)
    return [one for found, truth in pairs for one in score(found, truth, pixels)]


def trivial_scores(outcome: Outcome, pixels: Pixels, mean_image: Tensor, seed: int = 0) -> dict[str, list[Score]]:
    """What needs no attack, against the same images."""
    found: dict[str, list[Score]] = {}
    for k, truth in enumerate(outcome.truth):
        for name, images in trivial(truth.shape, pixels, mean_image, seed + k).items():
            found.setdefault(name, []).extend(score(images, truth, pixels))
    return found


def trivial_rows(outcome: Outcome, pixels: Pixels, mean_image: Tensor) -> list[dict[str, Any]]:
    """Medians of the trivial reconstructions."""
    rows = []
    for name, scores in trivial_scores(outcome, pixels, mean_image).items():
        numbers = [s.numbers() for s in scores]
        rows.append({"name": name, **{key: statistics.median(n[key] for n in numbers) for key in numbers[0]}})
    return rows


def best_trivial(outcome: Outcome, pixels: Pixels, mean_image: Tensor) -> tuple[str, list[Score]]:
    """The trivial reconstruction with the smallest median MSE."""
    every = trivial_scores(outcome, pixels, mean_image)
    return min(every.items(), key=lambda item: statistics.median(s.mse for s in item[1]))


def mean_image_of(data: Dataset) -> Tensor:
    """The mean of the test records: public records like the private ones."""
    return data.inputs(data.x_test, torch.float32).mean(0)


# ------------------------------------------------------------------ files
def _name(case: Case, settings: Settings, agents: Sequence[int]) -> str:
    what = json.dumps([asdict(case), asdict(settings), list(agents)], sort_keys=True)
    size = "own" if case.batch is None else f"b{case.batch}"
    return f"{case.scenario}-{case.round:06d}-{size}-{hashlib.blake2b(what.encode(), digest_size=6).hexdigest()}"


def _packed(outcome: Outcome) -> bytes:
    tensors = {
        name: getattr(outcome, name).contiguous().clone()
        for name in ("found", "truth", "read_labels", "true_labels", "objective")
    }
    return save(tensors, {"method": outcome.method})


def _unpacked(path: Path, case: Case, settings: Settings) -> Outcome:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        method = (file.metadata() or {}).get("method", settings.method)
    return Outcome(case, method, **load_file(path))
