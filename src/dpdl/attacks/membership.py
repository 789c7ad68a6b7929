"""Was a record in an agent's batch? Scores of candidates from a recording, and how well they tell.

    gradient  the cosine of the candidate's own gradient with the direction of a scenario (see
              `targets`), at the model of that target, after what gradients have in common was
              damped (see `damped`). Clipping does not turn a gradient, so it need not be known.
              The scale of a direction is not known either: a cosine is the same for any, which
              makes agents comparable.
    loss      how much the candidate's loss falls by the step that the agent took in the round (see
              `model_step`). The loss at one model tells little: the model that a gradient was taken
              at is older than the batch.

The adversary's part reads a `Recording`, candidates, and public records like the private ones. Only
`membership` knows which candidates were members; it imports what it needs for that itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import brentq
from scipy.special import betaincinv
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dpdl.attacks.recorded import Recording
from dpdl.attacks.targets import AttackCase, Target, model_step, target
from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.privacy.clipping import ENTRIES, MOST_SAMPLES
from dpdl.tasks.task import Task

if TYPE_CHECKING:
    from dpdl.planning.plan import Plan
    from dpdl.tasks.data import Dataset

Numbers = npt.NDArray[np.float64]
RATE = 0.01  # the false positive rate at which attacks are compared
FEWEST = 100
"""Non-members that a threshold for this rate is chosen from, and again those it is measured on."""
POINTS = 200
MOST_PUBLIC = 256
Z = 1.959964  # 95 % of a normal distribution are within


class Records(NamedTuple):
    """Candidates, or public records."""

    x: Tensor  # (n, ...) normalised
    y: Tensor  # (n,)

    def __repr__(self) -> str:
        return f"Records({len(self.x)} of shape {tuple(self.x.shape[1:])})"


# ------------------------------------------------------------------ the adversary
def unit_gradients(task: Task, row: Tensor, records: Records) -> Iterator[Tensor]:
    """Gradients of single records, of length 1, some rows at a time.

    One that is not finite is zero.
    """
    module = task.module(row).eval()  # which units dropout kept is not known

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.cross_entropy(
            functional_call(module, parameters, (x[None],)), y[None]
        )

    gradients, parameters = vmap(grad(loss), (None, 0, 0)), dict(task.parameters(row))
    size = min(MOST_SAMPLES, max(1, ENTRIES // len(row)))
    for x, y in zip(records.x.split(size), records.y.split(size), strict=True):
        g = torch.cat(
            [part.flatten(1) for part in gradients(parameters, x, y).values()], 1
        )
        yield nn.functional.normalize(
            torch.where(g.isfinite().all(1, keepdim=True), g, torch.zeros_like(g))
        )


def damped(public: Tensor, direction: Tensor) -> Callable[[Tensor], Tensor]:
    """Shrink what the rest of a batch may look like: to the length that noise has.

    All gradients have much in common, so all candidates look a little like members. With the second
    moment S of public gradients (scaled to trace 1), what was seen beside a candidate has a
    covariance of about e S + s^2 I. s^2 is read off what was seen outside the span of S, e off what
    was seen inside. Rows are divided by the root of this covariance, up to a factor; then a cosine
    is the optimal linear test. With much noise e is 0 and nothing is damped.
    """
    moments, turn = torch.linalg.eigh((public @ public.T).double())
    kept = moments > 1e-6 * moments[-1]
    basis = ((turn[:, kept] / moments[kept].sqrt()).T @ public.double()).to(
        public
    )  # orthonormal rows
    inside = (basis @ direction).double().square().sum()
    beyond = (direction.double().square().sum() - inside).clamp(min=1e-12)
    noise = beyond / (len(direction) - len(basis))
    extent = (inside - len(basis) * noise).clamp(min=0)
    keep = (
        (noise / (extent * moments[kept] / moments[kept].sum() + noise))
        .sqrt()
        .to(public)
    )
    return lambda rows: rows - ((rows @ basis.T) * (1 - keep)) @ basis


Damping = Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]]
"""From public gradients and the direction that was seen to what is done to rows: `damped`."""


def by_gradient(
    task: Task,
    seen: Target,
    candidates: Records,
    public: Records,
    damping: Damping = damped,
) -> Numbers:
    """Cosines of the candidates' gradients with the direction that was seen, both damped."""
    row = seen.model.to(candidates.x)
    direction = nn.functional.normalize(seen.direction.to(candidates.x), dim=0)
    most = min(
        MOST_PUBLIC, len(row) // 2, max(1, 16 * ENTRIES // len(row))
    )  # memory is bounded
    damp = damping(
        torch.cat(
            list(unit_gradients(task, row, Records(*(part[:most] for part in public))))
        ),
        direction,
    )
    sought = damp(direction[None])
    cosines = [
        torch.cosine_similarity(damp(g), sought, 1, 1e-30)
        for g in unit_gradients(task, row, candidates)
    ]
    return torch.cat(cosines).double().nan_to_num(0.0).numpy()


def by_loss(task: Task, step: Target, candidates: Records) -> Numbers:
    """How much every candidate's loss falls from a model to the one after the step."""
    before, after = step.model, step.model - step.direction
    losses = [
        nn.functional.cross_entropy(
            task.outputs(row.to(candidates.x), candidates.x),
            candidates.y,
            reduction="none",
        )
        for row in (before, after)
    ]
    first, last = (loss.double().nan_to_num() for loss in losses)
    return np.asarray((first - last).numpy(), np.float64)


def scores(
    recording: Recording,
    case: AttackCase,
    agent: int,
    candidates: Records,
    public: Records,
    damping: Damping = damped,
) -> dict[str, Numbers]:
    """The larger, the more likely a candidate was in the agent's batch.

    Both kinds, as far as they were recorded.
    """
    seen = target(recording, case.scenario, case.round, case.batch, agent)
    by_cosine = by_gradient(recording.task, seen, candidates, public, damping)
    found = {"gradient": by_cosine}
    try:
        step = model_step(recording, case.round, case.batch, agent)
    except InputError:  # the last round, or the first one: no two models to compare
        return found
    return {**found, "loss": by_loss(recording.task, step, candidates)}


# ------------------------------------------------------------------ how well scores tell
def roc(members: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    """False and true positive rates for all thresholds, from (0, 0) to (1, 1).

    A candidate is taken for a member when its score is at least the threshold.
    """
    thresholds = np.unique(np.concatenate([members, others]))[::-1]

    def rates(scores: Numbers) -> Numbers:
        above = len(scores) - np.searchsorted(np.sort(scores), thresholds, "left")
        return np.concatenate([[0.0], above / len(scores)])

    return rates(others), rates(members)


def auc(members: Numbers, others: Numbers) -> float:
    """The chance that a member scores above a non-member; ties count half."""
    fpr, tpr = roc(members, others)
    return float(np.trapezoid(tpr, fpr))


def auc_interval(area: float, members: int, others: int) -> tuple[float, float]:
    """95 % by the score method of Newcombe (2006), which has a length even when the area is 1."""

    def spread(a: float) -> float:
        extra = (members + others) / 2 - 1
        return math.sqrt(
            a
            * (1 - a)
            * (1 + extra * ((1 - a) / (2 - a) + a / (1 + a)))
            / (members * others)
        )

    def end(edge: float, side: int) -> float:
        if area == edge:
            return edge
        # At the edge the spread is zero, at the area there is no distance: between them both
        # are equal once.
        inside = area if spread(area) else area + side * 1e-9
        return float(brentq(lambda a: side * (a - area) - Z * spread(a), edge, inside))

    return end(0.0, -1), end(1.0, 1)


def rate_interval(hits: int, trials: int) -> tuple[float, float]:
    """95 % by Clopper and Pearson."""
    low = float(betaincinv(hits, trials - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 0.975)) if hits < trials else 1.0
    return low, high


def at_rate(
    members: Numbers, others: Numbers, rate: float
) -> tuple[float, float, float]:
    """Threshold, TPR and FPR of "in when the score is above".

    The threshold is chosen on every second non-member, as the k-th largest score: one more
    non-member is above it with probability k / (n + 1), which is `rate` at most. The FPR is
    measured on the other non-members, the TPR on all members: nothing that measures has been looked
    at before.
    """
    chosen, held = np.sort(others[::2])[::-1], others[1::2]
    k = math.floor(rate * (len(chosen) + 1) + 1e-9)
    if k < 1 or not len(held):
        raise InputError(
            f"A false positive rate of {rate:g} cannot be resolved with {len(others)} "
            "non-members."
        )
    threshold = float(chosen[k - 1])
    return (
        threshold,
        float((members > threshold).mean()),
        float((held > threshold).mean()),
    )


def summary(members: Numbers, others: Numbers) -> dict[str, Any]:
    """AUC, TPR at 1 % FPR with its interval, and the curve."""
    area = auc(members, others)
    facts: dict[str, Any] = {
        "auc": area,
        "auc_interval": auc_interval(area, len(members), len(others)),
    }
    if len(others) < 2 * FEWEST:
        facts |= {"tpr_at_1_percent": None, "tpr_interval": None, "fpr_measured": None}
        facts["note"] = (
            f"1 % FPR cannot be resolved with {len(others)} non-members: a threshold "
            f"is chosen from {FEWEST} and measured on {FEWEST} others."
        )
    else:
        _, tpr, fpr = at_rate(members, others, RATE)
        interval = rate_interval(round(tpr * len(members)), len(members))
        facts |= {
            "tpr_at_1_percent": tpr,
            "tpr_interval": interval,
            "fpr_measured": fpr,
        }
        facts["note"] = (
            "The threshold was chosen on one half of the non-members; the FPR was "
            "measured on the other."
        )
    curve = roc(members, others)
    kept = thinned(len(curve[0]))
    return {**facts, "fpr": curve[0][kept].tolist(), "tpr": curve[1][kept].tolist()}


def thinned(count: int) -> npt.NDArray[np.int64]:
    """At most POINTS of so many points, the first and the last among them.

    Dense at the start, where FPR is low.
    """
    if count <= POINTS:
        return np.arange(count)
    half = POINTS // 2
    places = np.concatenate(
        [np.linspace(0, count - 1, half), np.geomspace(1, count - 1, half)]
    )
    return np.unique(places.round().astype(np.int64))


# ------------------------------------------------------------------ the experimenter
def membership(
    run_dir: Path,
    scenario: str,
    t: int,
    batch: int | None = None,
    agents: Sequence[int] | None = None,
    seed: int = 0,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    damping: Damping = damped,
) -> dict[str, Any]:
    """Attack round t of a recorded run.

    Candidates are the agents' batches, and as many other records of each agent.
    """
    from dpdl.folder.run_folder import RunFolder
    from dpdl.training.train import replan

    recording = Recording(RunFolder(run_dir).recording, model)
    plan = replan(run_dir, data=data, model=model)
    if not plan.randomness.repeatable:
        raise InputError(
            "With secure randomness nobody knows which records were in a batch: "
            "nothing can be measured."
        )
    attacked = list(range(len(recording.W))) if agents is None else list(agents)
    case, public = AttackCase(scenario, t, batch), public_of(plan.data, seed)
    scored: dict[str, list[tuple[Numbers, Numbers]]] = {"gradient": [], "loss": []}
    for agent in attacked:
        if not 0 <= agent < len(recording.W):
            raise InputError(
                f"Agent {agent} cannot be attacked: the run has agents 0 to "
                f"{len(recording.W) - 1}."
            )
        candidates, inside = candidates_of(plan, case, agent, seed)
        if inside:
            of_agent = scores(recording, case, agent, candidates, public, damping)
            for kind, found in of_agent.items():
                scored[kind].append((found[:inside], found[inside:]))
    if not scored["gradient"]:
        raise InputError(
            f"No attacked agent had both records in its batch of round {t} and others "
            "to compare with."
        )
    if len(scored["loss"]) < len(scored["gradient"]):  # some links were not recorded
        scored["loss"] = []
    pooled = {
        kind: [np.concatenate(of) for of in zip(*pairs, strict=True)]
        for kind, pairs in scored.items()
    }
    facts = {
        "scenario": scenario,
        "round": t,
        "batch": batch,
        "agents": attacked,
        "seed": seed,
    }
    sizes = dict(
        zip(("members", "non_members"), map(len, pooled["gradient"]), strict=True)
    )
    return {
        **facts,
        **sizes,
        "scores": {kind: summary(*of) if of else None for kind, of in pooled.items()},
    }


def candidates_of(
    plan: Plan, case: AttackCase, agent: int, seed: int
) -> tuple[Records, int]:
    """Members of an agent's batch, then as many of its records that were not in it.

    And how many of each.
    """
    from dpdl.training.recording import with_batches_of

    site = plan.everybody
    played = site if case.batch is None else with_batches_of(site, case.batch)
    inside = played.drawn(agent, case.round)
    rest = np.setdiff1d(played.records[agent].rows, inside, assume_unique=True)
    draw = generator(seed, "membership", case.round, agent)
    count = min(len(inside), len(rest))
    members, others = (draw.permutation(of)[:count] for of in (inside, rest))
    records = torch.from_numpy(np.concatenate([members, others]))
    return Records(
        plan.data.inputs(plan.data.x[records], torch.float32), plan.data.y[records]
    ), count


def public_of(data: Dataset, seed: int) -> Records:
    """Test records: public ones like the private ones."""
    some = torch.from_numpy(
        generator(seed, "membership-public").permutation(len(data.y_test))[:MOST_PUBLIC]
    )
    return Records(data.inputs(data.x_test[some], torch.float32), data.y_test[some])
