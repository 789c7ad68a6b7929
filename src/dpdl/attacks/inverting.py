"""Images whose gradient points where the target points.

`inverting` (Geiping, Bauermeister, Dröge, Moeller, 2020): minimise 1 - cos(gradient, target) + tau
TV by Adam on the sign of the images' gradient, with a step that falls tenfold at 3/8, 5/8 and 7/8
of the way, in the box of valid pixels. `dlg` (Zhu, Liu, Han, 2019): minimise ||gradient -
target||^2 over images and soft labels by L-BFGS. `idlg` (Zhao, Mopuri, Bilen, 2020): the same with
labels read off the last layer.

Ours: many targets and restarts in one vectorised optimisation, and a weight for darkness, sum
|pixel - black|, since digits and clothes are mostly background; pictures in colour are not, and
start from grey. The best restart is the one with the smallest objective, which needs no ground
truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dpdl.attacks.pixels import Pixels
from dpdl.attacks.scenarios import Target
from dpdl.attacks.workers import ShareWatch
from dpdl.errors import InputError
from dpdl.tasks.task import Task


@final
@dataclass(frozen=True)
class Settings:
    """How hard to try, and what pictures are expected to look like."""

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
@dataclass(frozen=True)
class Problem:
    """Gradients of many batches, each at the model of its target, differentiable by the images."""

    module: nn.Module  # the architecture; its own parameters are not used
    parameters: dict[str, Tensor]  # name -> (targets, ...)
    directions: Tensor  # (targets, D)
    shape: tuple[int, ...]  # of one image
    classes: int

    @classmethod
    def of(
        cls, task: Task, targets: Sequence[Target], shape: tuple[int, ...]
    ) -> Problem:
        """The problem of inverting these targets."""
        rows = [task.parameters(target.model) for target in targets]
        parameters = {
            name: torch.stack([row[name] for row in rows]) for name in rows[0]
        }
        classes = task.outputs(task.initial, torch.zeros(1, *shape)).shape[1]
        directions = torch.stack([target.direction for target in targets])
        return cls(
            task.module(task.initial).eval(), parameters, directions, shape, classes
        )

    @property
    def last_bias(self) -> Tensor | None:
        """The directions' part for the last layer's bias; None when there is none."""
        last = list(self.parameters.values())[-1]
        if last.shape[1:] != (self.classes,):
            return None
        return self.directions[:, -self.classes :]

    def repeated(self, times: int) -> Problem:
        """Every target several times in a row."""
        return self._with(lambda rows: rows.repeat_interleave(times, 0))

    def some(self, which: slice) -> Problem:
        """Some of the targets."""
        return self._with(lambda rows: rows[which])

    def _with(self, change: Callable[[Tensor], Tensor]) -> Problem:
        parameters = {name: change(p) for name, p in self.parameters.items()}
        return replace(self, parameters=parameters, directions=change(self.directions))

    def only(self, k: int) -> Problem:
        """One target."""
        return self.some(slice(k, k + 1))

    def probabilities(self, x: Tensor) -> Tensor:
        """Mean probabilities of the classes on some images, by the first target's model."""
        first = {name: p[0] for name, p in self.parameters.items()}
        with torch.no_grad():
            outputs: Tensor = functional_call(self.module, first, (x,))
        return outputs.softmax(1).mean(0)

    def gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """(targets, D), of images (targets, batch, ...) and labels (targets, batch, classes)."""

        def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            outputs = functional_call(self.module, parameters, (x,))
            return -(torch.log_softmax(outputs, 1) * y).sum(1).mean()

        g = vmap(grad(loss))(self.parameters, x, y)
        return torch.cat([part.flatten(1) for part in g.values()], 1)


def check_invertible(task: Task, shape: tuple[int, ...], classes: int) -> None:
    """Refuse a model whose gradient cannot be differentiated once more."""
    row = task.initial.clone()
    problem = Problem.of(task, [Target(row, row, 0)], shape)
    x = torch.zeros(1, 1, *shape).requires_grad_()
    y = torch.full((1, 1, classes), 1 / classes)
    try:
        (slope,) = torch.autograd.grad(problem.gradient(x, y).square().sum(), x)
    except RuntimeError as failure:
        raise InputError(
            "The gradient of this model is not twice differentiable: "
            f"{str(failure).splitlines()[0]} Replace the layer that has no second "
            "derivative, or attack with membership inference instead."
        ) from failure
    if not slope.isfinite().all():
        raise InputError(
            "The gradient of this model has no finite derivative with respect to "
            "images."
        )


def variation(x: Tensor) -> Tensor:
    """Mean absolute difference of neighbouring pixels, per target."""
    down = (x[..., 1:, :] - x[..., :-1, :]).abs().flatten(1).mean(1)
    across = (x[..., 1:] - x[..., :-1]).abs().flatten(1).mean(1)
    total: Tensor = down + across
    return total


def prior(x: Tensor, pixels: Pixels, settings: Settings) -> Tensor:
    """What pictures are expected to be: smooth, and dark if they are grey."""
    total = settings.smooth * variation(x)
    if x.shape[-3] == 1:
        total = total + settings.dark * (x - pixels.low.to(x)).abs().flatten(1).mean(1)
    return total


def angle(g: Tensor, direction: Tensor) -> Tensor:
    """1 - cosine, row by row."""
    lengths = (g.norm(dim=1) * direction.norm(dim=1)).clamp(min=1e-30)
    cosine: Tensor = (g * direction).sum(1) / lengths
    return 1 - cosine


def relative(found: Tensor, wanted: Tensor) -> Tensor:
    """Squared distance over squared length, per target."""
    length = wanted.square().flatten(1).sum(1).clamp(min=1e-30)
    return (found - wanted).square().flatten(1).sum(1) / length


def falling(k: int, settings: Settings) -> float:
    """The share of the step size in iteration k: from 1 to nearly 0, along a cosine."""
    return 0.5 * (1 + math.cos(math.pi * k / settings.iterations))


def start(shape: Sequence[int], targets: int, settings: Settings) -> Tensor:
    """Noise in [0, 1] for every restart, the same for every target, whichever are attacked."""
    draw = torch.Generator().manual_seed(settings.seed)
    noise = torch.rand(settings.restarts, *shape, generator=draw)
    return noise.repeat(targets, *(1 for _ in shape))


def best(found: Found, restarts: int) -> Found:
    """Of every target's restarts, the one with the smallest objective."""
    objective = found.objective.nan_to_num(math.inf).view(-1, restarts)
    k = objective.argmin(1)
    rows = torch.arange(len(k))
    images = found.images.view(len(k), restarts, *found.images.shape[1:])
    return Found(images[rows, k], objective[rows, k])


def descend(
    problem: Problem,
    x: Tensor,
    y: Tensor,
    pixels: Pixels,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    """Signed Adam from x, for label weights y."""
    x = x.clone().requires_grad_()
    optimizer = torch.optim.Adam([x], settings.lr)
    drops = [int(settings.iterations * share) for share in (3 / 8, 5 / 8, 7 / 8)]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, 0.1)
    objective = torch.full((len(x),), math.inf)
    for k in range(settings.iterations):
        optimizer.zero_grad()
        aside = angle(problem.gradient(x, y), problem.directions)
        fit = aside + prior(x, pixels, settings)
        fit.sum().backward()
        assert x.grad is not None
        x.grad.sign_()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            x.copy_(pixels.clamp(x))
        objective = fit.detach()
        watch((k + 1) / settings.iterations)
    return Found(x.detach(), objective)


def invert(
    problem: Problem,
    labels: Tensor,
    pixels: Pixels,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    """Inverting gradients, with labels (targets, batch) that are known or were recovered."""
    many, y = problem.repeated(settings.restarts), one_hot(labels, problem.classes)
    y = y.repeat_interleave(settings.restarts, 0)
    noise = start((labels.shape[1], *problem.shape), len(labels), settings)
    middle = 0.0 if problem.shape[0] == 1 else 0.5
    x = pixels.from_unit(middle + 0.1 * noise)
    return best(descend(many, x, y, pixels, settings, watch), settings.restarts)


def deep_leakage(
    problem: Problem,
    labels: Tensor | None,
    batch: int,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    """DLG, or iDLG when labels are given: L-BFGS on the squared distance, from normal images.

    Targets are taken one by one: the line search of one must not depend on another.
    """
    images, objective = [], []
    for k in range(len(problem.directions)):
        one = problem.only(k)
        tries = [
            _leak(one, None if labels is None else labels[k], batch, settings, r)
            for r in range(settings.restarts)
        ]
        x, fit = min(tries, key=lambda found: found[1])
        images.append(x)
        objective.append(fit)
        watch((k + 1) / len(problem.directions))
    return Found(torch.stack(images), torch.tensor(objective))


def _leak(
    one: Problem, labels: Tensor | None, batch: int, settings: Settings, number: int
) -> tuple[Tensor, float]:
    draw = torch.Generator().manual_seed(settings.seed + number)
    x = torch.randn(1, batch, *one.shape, generator=draw).requires_grad_()
    soft = torch.randn(1, batch, one.classes, generator=draw).requires_grad_()
    unknown = [x] if labels is not None else [x, soft]
    optimizer = torch.optim.LBFGS(
        unknown, lr=1.0, max_iter=settings.iterations, line_search_fn="strong_wolfe"
    )
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
