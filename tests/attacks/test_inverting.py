"""Images are sought whose gradient points where the target points."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dpdl.attacks.inverting import (
    Found,
    Settings,
    best,
    check_invertible,
    deep_leakage,
    descend,
    invert,
    one_hot,
    prior,
)
from dpdl.attacks.labels import recovered
from dpdl.errors import InputError
from dpdl.tasks.models import cnn, lenet, mlp
from dpdl.tasks.task import Task
from tests.attacks.images import PIXELS, SHAPE, problem_of, quiet, strokes


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_small_batches_are_inverted_towards_the_target() -> None:
    """The objective falls far below that of the start, and images are in the box."""
    task = Task(lenet(SHAPE, 10))
    x, y = strokes(2)[None], torch.tensor([[3, 7]])
    problem = problem_of(task, x, y)
    found = invert(problem, y, PIXELS, Settings(iterations=120, restarts=2), quiet)
    start = invert(problem, y, PIXELS, Settings(iterations=1, restarts=1), quiet)
    assert float(found.objective) < 0.5 * float(start.objective)
    assert found.images.min() >= -1 and found.images.max() <= 1
    again = invert(problem, y, PIXELS, Settings(iterations=120, restarts=2), quiet)
    assert torch.equal(found.images, again.images)
    other = invert(
        problem, y, PIXELS, Settings(iterations=120, restarts=2, seed=5), quiet
    )
    assert not torch.equal(found.images, other.images)


def test_steps_are_signs_and_shrink_tenfold_at_three_places() -> None:
    """Of 8 steps three are 0.1 long, then two 0.01, two 0.001, one 0.0001.

    So far goes a pixel that never turns.
    """
    task = Task(lenet(SHAPE, 10))
    x, y = strokes(1)[None], torch.tensor([[3]])
    grey = torch.zeros(1, 1, *SHAPE)
    found = descend(
        problem_of(task, x, y),
        grey,
        one_hot(y, 10),
        PIXELS,
        Settings(iterations=8),
        quiet,
    )
    straight = (found.images.abs() - 0.3221).abs() < 1e-4
    assert straight.float().mean() > 0.1


def test_the_restart_that_fits_best_is_kept() -> None:
    images = torch.arange(6.0).view(6, 1, 1, 1, 1)
    kept = best(
        Found(images, torch.tensor([3.0, 1.0, float("nan"), float("nan"), 5.0, 4.0])), 3
    )
    assert kept.images.flatten().tolist() == [1.0, 5.0] and kept.objective.tolist() == [
        1.0,
        4.0,
    ]


def test_grey_pictures_are_expected_to_be_dark_and_coloured_ones_not() -> None:
    black, white = torch.full((1, 1, *SHAPE), -1.0), torch.full((1, 1, *SHAPE), 1.0)
    of = Settings(smooth=0.5, dark=0.25)
    assert (
        float(prior(black, PIXELS, of)) == 0 and float(prior(white, PIXELS, of)) == 0.5
    )  # 0.25 times a range of 2
    assert float(prior(white.repeat(1, 1, 3, 1, 1), PIXELS, of)) == 0
    stripes = white.clone()
    stripes[
        ..., ::2
    ] = -1  # all neighbours in a row differ by 2, those in a column by nothing
    assert float(prior(stripes, PIXELS, Settings(smooth=0.5, dark=0.0))) == 1


class Smooth(nn.Module):
    """A model that is easy for second-order methods."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 40), nn.Sigmoid(), nn.Linear(40, 5)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@pytest.mark.parametrize("known", [True, False], ids=["idlg", "dlg"])
def test_deep_leakage_is_exact_on_an_easy_model(known: bool) -> None:
    x, y = torch.randn(1, 1, 1, 8, 8), torch.tensor([[2]])
    problem = problem_of(Task(Smooth()), x, y)
    labels = recovered(problem, 1, 0) if known else None
    found = deep_leakage(
        problem, labels, 1, Settings(iterations=200, restarts=3), quiet
    )
    assert float((found.images - x).square().mean()) < 1e-3


class Cut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g.clone()


class Once(nn.Module):
    """Its gradient cannot be differentiated again."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        return Cut.apply(self.linear(x.flatten(1)))


def test_a_model_without_second_derivatives_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="twice differentiable"):
        check_invertible(Task(Once()), (1, 8, 8), 3)
    for module, shape in (
        (mlp((1, 8, 8), 10), (1, 8, 8)),
        (cnn((3, 8, 8), 10), (3, 8, 8)),
    ):
        check_invertible(Task(module), shape, 10)
