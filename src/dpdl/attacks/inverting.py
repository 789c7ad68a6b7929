"""Images whose gradient points where the target points.

`inverting` (Geiping, Bauermeister, Dröge, Moeller, 2020): minimise 1 - cos(gradient, target) + tau TV by Adam on the
sign of the images' gradient, with a step that falls tenfold at 3/8, 5/8 and 7/8 of the way, in the box of valid pixels.
`dlg` (Zhu, Liu, Han, 2019): minimise ||gradient - target||^2 over images and soft labels by L-BFGS. `idlg` (Zhao,
Mopuri, Bilen, 2020): the same with labels read off the last layer.

Ours: many targets and restarts in one vectorised optimisation, and a weight for darkness, sum |pixel - black|, since
digits are mostly background. The best restart is the one with the smallest objective, which needs no ground truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from dpdl.attacks.pixels import Pixels
from dpdl.attacks.targets import Target
from dpdl.errors import InputError
from dpdl.tasks.task import Task

Watch = Callable[[int, int], None]
"""Called with iterations done and iterations in all."""


@final
@dataclass(frozen=True)
class Settings:
    """How hard to try, and what pictures are expected to look like."""

    method: str = "auto"
    iterations: int = 1000
    restarts: int = 4
    smooth: float = 0.03  # tau, weight of the total variation
    dark: float = 0.03  # weight of the distance from black
    lr: float = 0.1
    seed: int = 0


class Found(NamedTuple):
    """Reconstructions, and how well each fits what was seen."""

    images: Tensor  # (targets, batch, channels, height, width), normalised
    objective: Tensor  # (targets,)


@final
class Problem:
    """Gradients of many batches, each at the model of its own target; all differentiable with respect to images."""

    def __init__(self, task: Task, targets: Sequence[Target], shape: tuple[int, ...]) -> None:
        module = task.module(task.initial).eval()
        models = torch.stack([target.model for target in targets])
        rows = [task.parameters(row) for row in models]
        self.parameters = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
        self.directions = torch.stack([target.direction for target in targets])
        self.shape = shape
        self.classes = list(rows[0].values())[-1].shape[0]

        def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            outputs = functional_call(module, parameters, (x,))
            return -(torch.log_softmax(outputs, 1) * y).sum(1).mean()

        def chances(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            found: Tensor = functional_call(module, parameters, (x,)).softmax(1).mean(0)
            return found

        self._gradient = vmap(grad(loss))
        self._chances = vmap(chances, (0, None))

    def repeated(self, times: int) -> Problem:
        """Every target several times in a row."""
        again = object.__new__(Problem)
        again.parameters = {name: p.repeat_interleave(times, 0) for name, p in self.parameters.items()}
        again.directions = self.directions.repeat_interleave(times, 0)
        again.shape, again.classes = self.shape, self.classes
        again._gradient, again._chances = self._gradient, self._chances
        return again

    def some(self, which: slice) -> Problem:
        """Some of the targets."""
        again = self.repeated(1)
        again.parameters = {name: p[which] for name, p in self.parameters.items()}
        again.directions = self.directions[which]
        return again

    def only(self, k: int) -> Problem:
        """One target."""
        return self.some(slice(k, k + 1))

    def probabilities(self, x: Tensor) -> Tensor:
        """Mean probabilities of the classes on some images, by the first target's model."""
        with torch.no_grad():
            found: Tensor = self._chances(self.parameters, x)[0]
        return found

    def gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """(targets, D) from images (targets, batch, ...) and label weights (targets, batch, classes)."""
        g = self._gradient(self.parameters, x, y)
        return torch.cat([part.flatten(1) for part in g.values()], 1)


def check(task: Task, shape: tuple[int, ...], classes: int) -> None:
    """Refuse a model whose gradient cannot be differentiated once more."""
    row = task.initial.clone()
    problem = Problem(task, [Target(row, row, 0)], shape)
    x = torch.zeros(1, 1, *shape).requires_grad_()
    y = torch.full((1, 1, classes), 1 / classes)
    try:
        (slope,) = torch.autograd.grad(problem.gradient(x, y).square().sum(), x)
    except RuntimeError as failure:
        raise InputError(
            f"The gradient of this model is not twice differentiable: {str(failure).splitlines()[0]} Replace the layer "
            "that has no second derivative, or attack with membership inference instead."
        ) from failure
    if not slope.isfinite().all():
        raise InputError("The gradient of this model has no finite derivative with respect to images.")


def variation(x: Tensor) -> Tensor:
    """Mean absolute difference of neighbouring pixels, per target."""
    down = (x[..., 1:, :] - x[..., :-1, :]).abs().flatten(1).mean(1)
    across = (x[..., 1:] - x[..., :-1]).abs().flatten(1).mean(1)
    total: Tensor = down + across
    return total


def prior(x: Tensor, pixels: Pixels, settings: Settings) -> Tensor:
    """What pictures are expected to be: smooth, and dark."""
    bright: Tensor = (x - pixels.low.to(x)).abs().flatten(1).mean(1)
    total: Tensor = settings.smooth * variation(x) + settings.dark * bright
    return total


def angle(g: Tensor, direction: Tensor) -> Tensor:
    """1 - cosine, row by row."""
    cosine: Tensor = (g * direction).sum(1) / (g.norm(dim=1) * direction.norm(dim=1)).clamp(min=1e-30)
    return 1 - cosine


def start(targets: int, batch: int, shape: tuple[int, ...], pixels: Pixels, seed: int) -> Tensor:
    """Dark images with a little noise."""
    draw = torch.Generator().manual_seed(seed)
    noise = torch.rand(targets, batch, *shape, generator=draw)
    return pixels.low.to(noise) + 0.1 * noise * (pixels.high - pixels.low).to(noise)


def best(found: Found, restarts: int) -> Found:
    """Of every target's restarts, the one with the smallest objective."""
    objective = found.objective.nan_to_num(math.inf).view(-1, restarts)
    k = objective.argmin(1)
    rows = torch.arange(len(k))
    return Found(found.images.view(len(k), restarts, *found.images.shape[1:])[rows, k], objective[rows, k])


def descend(problem: Problem, x: Tensor, y: Tensor, pixels: Pixels, settings: Settings, watch: Watch) -> Found:
    """Signed Adam from x, for label weights y."""
    x = x.clone().requires_grad_()
    optimizer = torch.optim.Adam([x], settings.lr)
    drops = [int(settings.iterations * share) for share in (3 / 8, 5 / 8, 7 / 8)]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, 0.1)
    objective = torch.full((len(x),), math.inf)
    for k in range(settings.iterations):
        optimizer.zero_grad()
        fit = angle(problem.gradient(x, y), problem.directions) + prior(x, pixels, settings)
        fit.sum().backward()
        assert x.grad is not None
        x.grad.sign_()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            x.copy_(pixels.clamp(x))
        objective = fit.detach()
        watch(k + 1, settings.iterations)
    return Found(x.detach(), objective)


def invert(problem: Problem, labels: Tensor, pixels: Pixels, settings: Settings, watch: Watch) -> Found:
    """Inverting gradients, with labels (targets, batch) that are known or were recovered."""
    many, y = problem.repeated(settings.restarts), one_hot(labels, problem.classes)
    y = y.repeat_interleave(settings.restarts, 0)
    x = start(len(y), labels.shape[1], problem.shape, pixels, settings.seed)
    return best(descend(many, x, y, pixels, settings, watch), settings.restarts)


def deep_leakage(problem: Problem, labels: Tensor | None, batch: int, settings: Settings, watch: Watch) -> Found:
    """DLG, or iDLG when labels are given: L-BFGS on the squared distance, from standard normal images.

    Targets are taken one by one: the line search of one must not depend on another.
    """
    images, objective = [], []
    for k in range(len(problem.directions)):
        one = problem.only(k)
        tries = [
            _leak(one, None if labels is None else labels[k], batch, settings, r) for r in range(settings.restarts)
        ]
        x, fit = min(tries, key=lambda found: found[1])
        images.append(x)
        objective.append(fit)
        watch(k + 1, len(problem.directions))
    return Found(torch.stack(images), torch.tensor(objective))


def _leak(one: Problem, labels: Tensor | None, batch: int, settings: Settings, number: int) -> tuple[Tensor, float]:
    draw = torch.Generator().manual_seed(settings.seed + number)
    x = torch.randn(1, batch, *one.shape, generator=draw).requires_grad_()
    soft = torch.randn(1, batch, one.classes, generator=draw).requires_grad_()
    unknown = [x] if labels is not None else [x, soft]
    optimizer = torch.optim.LBFGS(unknown, lr=1.0, max_iter=settings.iterations, line_search_fn="strong_wolfe")
    scale = one.directions.square().sum()
    fit = math.inf

    def distance() -> Tensor:
        nonlocal fit
        optimizer.zero_grad()
        y = soft.softmax(2) if labels is None else one_hot(labels[None], one.classes)
        away = (one.gradient(x, y) - one.directions).square().sum() / scale
        away.backward()
        fit = float(away.detach())
        return away

    optimizer.step(distance)
    return x.detach()[0], fit if math.isfinite(fit) else math.inf


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """(targets, batch) -> (targets, batch, classes)."""
    return torch.nn.functional.one_hot(labels, classes).float()
