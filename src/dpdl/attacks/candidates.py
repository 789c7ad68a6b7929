"""Scores of candidates: the larger, the more likely a record was in an agent's batch.

    gradient  the cosine of the candidate's own gradient with the direction of a scenario (see
              `scenarios`), at the model of that target, after the part that all gradients share was
              damped (see `damped`). Clipping does not turn a gradient, so it need not be known.
              The scale of a direction is not known either: a cosine is the same for any, which
              makes agents comparable.
    loss      how much the candidate's loss falls by the step that the agent took in the round (see
              `model_step`). The loss at one model says little: the model that a gradient was taken
              at is older than the batch.

This is the adversary's part: it reads a `Recording`, candidates, and public records like the
private ones. It does not know which candidates were members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, Target, model_step, target
from dpdl.errors import InputError
from dpdl.privacy.clipping import ENTRIES, MOST_SAMPLES
from dpdl.tasks.task import Task

Numbers = npt.NDArray[np.float64]
MOST_PUBLIC = 256
"""Public records that are used at most."""


class Candidates(NamedTuple):
    """Records with their labels: those in question, or public ones."""

    x: Tensor  # (n, ...) normalised
    y: Tensor  # (n,)

    def __repr__(self) -> str:
        return f"Candidates({len(self.x)} of shape {tuple(self.x.shape[1:])})"


class CandidateScores(NamedTuple):
    """A number for every candidate; None: what the loss needs was not recorded."""

    gradient: Numbers
    loss: Numbers | None


def unit_gradients(task: Task, row: Tensor, records: Candidates) -> Iterator[Tensor]:
    """Gradients of single records, of length 1, some rows at a time.

    One that is not finite is zero.
    """
    module = task.module(row).eval()  # which units dropout kept is not known

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        outputs = functional_call(module, parameters, (x[None],))
        return nn.functional.cross_entropy(outputs, y[None])

    gradients = vmap(grad(loss), (None, 0, 0))
    parameters = dict(task.parameters(row))
    size = min(MOST_SAMPLES, max(1, ENTRIES // len(row)))
    for x, y in zip(records.x.split(size), records.y.split(size), strict=True):
        parts = gradients(parameters, x, y).values()
        g = torch.cat([part.flatten(1) for part in parts], 1)
        finite = g.isfinite().all(1, keepdim=True)
        yield nn.functional.normalize(torch.where(finite, g, torch.zeros_like(g)))


def damped(public: Tensor, direction: Tensor) -> Callable[[Tensor], Tensor]:
    """Shrink what the rest of a batch may look like to the length that noise has.

    All gradients have much in common, so all candidates look a little like members. With the second
    moment S of public gradients (scaled to trace 1), what was seen beside a candidate has a
    covariance of about e S + s^2 I. s^2 is read off what was seen outside the span of S, e off what
    was seen inside. Rows are divided by the root of this covariance, up to a factor; then a cosine
    is the optimal linear test. With much noise e is 0 and nothing is damped.
    """
    moments, turn = torch.linalg.eigh((public @ public.T).double())
    kept = moments > 1e-6 * moments[-1]
    moments = moments[kept]
    # Rows of the basis are orthonormal.
    basis = ((turn[:, kept] / moments.sqrt()).T @ public.double()).to(public)
    inside = (basis @ direction).double().square().sum()
    beyond = (direction.double().square().sum() - inside).clamp(min=1e-12)
    noise = beyond / (len(direction) - len(basis))
    extent = (inside - len(basis) * noise).clamp(min=0)
    spread = extent * moments / moments.sum()
    keep = (noise / (spread + noise)).sqrt().to(public)
    return lambda rows: rows - ((rows @ basis.T) * (1 - keep)) @ basis


Damping = Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]]
"""From public gradients and the direction that was seen to a change of rows: `damped`."""


def by_gradient(
    task: Task,
    seen: Target,
    candidates: Candidates,
    public: Candidates,
    damping: Damping = damped,
) -> Numbers:
    """Cosines of the candidates' gradients with the direction that was seen, both damped."""
    row = seen.model.to(candidates.x)
    direction = nn.functional.normalize(seen.direction.to(candidates.x), dim=0)
    fitting = max(1, 16 * ENTRIES // len(row))  # memory is bounded
    most = min(MOST_PUBLIC, len(row) // 2, fitting)
    some = Candidates(public.x[:most], public.y[:most])
    damp = damping(torch.cat(list(unit_gradients(task, row, some))), direction)
    sought = damp(direction[None])
    cosines = [
        torch.cosine_similarity(damp(g), sought, 1, 1e-30)
        for g in unit_gradients(task, row, candidates)
    ]
    return torch.cat(cosines).double().nan_to_num(0.0).numpy()


def by_loss(task: Task, step: Target, candidates: Candidates) -> Numbers:
    """How much every candidate's loss falls from a model to the one after the step."""

    def losses(row: Tensor) -> Tensor:
        outputs = task.outputs(row.to(candidates.x), candidates.x)
        each = nn.functional.cross_entropy(outputs, candidates.y, reduction="none")
        return each.double().nan_to_num()

    fall = losses(step.model) - losses(step.model - step.direction)
    return np.asarray(fall.numpy(), np.float64)


def scores(
    recording: Recording,
    case: AttackCase,
    agent: int,
    candidates: Candidates,
    public: Candidates,
    damping: Damping = damped,
) -> CandidateScores:
    """Both kinds of scores, as far as what they need was recorded."""
    seen = target(recording, case.scenario, case.round, case.batch, agent)
    cosines = by_gradient(recording.task, seen, candidates, public, damping)
    try:
        step = model_step(recording, case.round, case.batch, agent)
    except InputError:  # the last round, or the first one: no two models to compare
        return CandidateScores(cosines, None)
    return CandidateScores(cosines, by_loss(recording.task, step, candidates))
