"""Images come back from the gradient of a linear model on scattering features, without noise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dpdl.attacks.image_scores import pixels_of, score
from dpdl.attacks.inverting import Problem, Settings
from dpdl.attacks.scenarios import Target
from dpdl.attacks.unscatter import unscatter
from dpdl.tasks import models
from dpdl.tasks.data import load
from dpdl.tasks.fused.network import Network, understand
from dpdl.tasks.scattering import GROUPS, Scattering, normalised
from dpdl.tasks.task import Task

DIGITS = load("digits")
PIXELS = pixels_of(DIGITS)
SHAPE = (1, 16, 16)
SCATTERING = Scattering(SHAPE)


def digits(count: int) -> Tensor:
    """Of 16 x 16 pixels: on 8 x 8 a search often gets stuck."""
    small = DIGITS.inputs(DIGITS.x[:count], torch.float32)
    return nn.functional.interpolate(small, scale_factor=2, mode="bilinear")


def gradient_of(task: Task, f: Tensor, label: Tensor) -> Tensor:
    module = task.module(task.initial)
    loss = nn.functional.cross_entropy(module(f[None]), label[None])
    parts = torch.autograd.grad(loss, list(module.parameters()))
    return torch.cat([part.flatten() for part in parts])


def problem_of(images: Tensor, labels: Tensor, noise: float) -> tuple[Problem, Network]:
    task = Task(models.build("scatter-linear", SCATTERING.out, 10, 0))
    features = normalised(SCATTERING(images), GROUPS)
    draw = torch.Generator().manual_seed(1)
    targets = []
    for f, label in zip(features, labels, strict=True):
        g = gradient_of(task, f, label)
        g = g + noise * g.norm() * torch.randn(g.shape, generator=draw)
        targets.append(Target(task.initial, -3 * g, 0))
    network = understand(task.module(task.initial), SCATTERING.out)
    assert network
    return Problem.of(task, targets, SCATTERING.out), network


def psnr_of(noise: float, settings: Settings) -> tuple[list[float], list[float]]:
    images = digits(2)
    problem, network = problem_of(images, DIGITS.y[:2], noise)
    shares: list[float] = []
    found = unscatter(problem, network, SHAPE, PIXELS, settings, shares.append)
    assert found.images.shape == (2, 1, *SHAPE)
    assert found.objective.shape == (2,)
    pairs = zip(found.images, images, strict=True)
    return [score(its, x[None], PIXELS)[0].psnr for its, x in pairs], shares


def test_images_are_read_off_whatever_the_scale_and_sign_of_the_gradient() -> None:
    found, shares = psnr_of(0.0, Settings(120, 1))
    assert min(found) > 18
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1


def test_noise_on_the_gradient_hides_them() -> None:
    found, _ = psnr_of(1.0, Settings(30, 1))
    assert max(found) < 12


def test_another_start_is_another_search_and_the_better_one_is_kept() -> None:
    images = digits(1)
    problem, network = problem_of(images, DIGITS.y[:1], 0.0)
    once, twice = (
        unscatter(
            problem,
            network,
            SHAPE,
            PIXELS,
            Settings(5, restarts),
            lambda _: None,
        )
        for restarts in (1, 3)
    )
    assert float(twice.objective) <= float(once.objective)


def test_who_stops_the_work_is_heard() -> None:
    class Left(Exception):
        pass

    def leave(share: float) -> None:
        raise Left

    images = digits(1)
    problem, network = problem_of(images, DIGITS.y[:1], 0.0)
    with pytest.raises(Left):
        unscatter(problem, network, SHAPE, PIXELS, Settings(5, 1), leave)
