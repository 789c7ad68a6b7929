"""The adversary's scores of candidates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl.attacks.candidates import (
    Candidates,
    by_gradient,
    by_loss,
    damped,
    unit_gradients,
)
from dpdl.attacks.scenarios import Target
from dpdl.tasks.task import Task


def small_task() -> Task:
    """16 numbers, 3 classes."""
    torch.manual_seed(0)
    return Task(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)))


def test_damping_shrinks_the_common_part_and_leaves_noise_alone() -> None:
    torch.manual_seed(0)
    common = torch.nn.functional.normalize(torch.randn(400), dim=0)
    public = torch.nn.functional.normalize(common + 0.02 * torch.randn(30, 400))
    damp = damped(public, common)
    assert damp(common[None]).norm() < 0.5
    aside = torch.randn(400)
    aside -= public.T @ torch.linalg.lstsq(public.T, aside).solution
    torch.testing.assert_close(damp(aside[None])[0], aside, rtol=1e-3, atol=1e-4)
    noise = (
        aside / aside.norm() + 0.2 * common
    )  # no more inside the span than noise has there
    torch.testing.assert_close(damped(public, noise)(common[None])[0], common)


def test_a_gradient_that_is_not_finite_is_no_sign() -> None:
    task = small_task()
    x = torch.randn(4, 16)
    x[1] = float("inf")
    records, seen = (
        Candidates(x, torch.tensor([0, 1, 2, 0])),
        Target(task.initial, torch.ones(51), 0),
    )
    found = by_gradient(task, seen, records, records)
    assert found[1] == 0 and np.isfinite(found).all() and found[0] != 0


def untouched(public: torch.Tensor, direction: torch.Tensor):
    """No damping."""
    return lambda rows: rows


def test_the_only_member_has_the_largest_cosine_whatever_the_scale() -> None:
    task, x, y = small_task(), torch.randn(6, 16), torch.tensor([0, 1, 2, 0, 1, 2])
    records = Candidates(x, y)
    rows = torch.cat(list(unit_gradients(task, task.initial, records)))
    assert rows.norm(dim=1).tolist() == pytest.approx([1.0] * 6)
    seen = Target(task.initial, 7.5 * rows[3], 0)
    found = by_gradient(task, seen, records, records, untouched)
    assert found.argmax() == 3 and found[3] == pytest.approx(1, abs=1e-5)


def test_the_loss_of_a_member_falls_by_its_own_step() -> None:
    task, x, y = small_task(), torch.randn(4, 16), torch.tensor([0, 1, 2, 0])
    records = Candidates(x, y)
    rows = torch.cat(list(unit_gradients(task, task.initial, records)))
    found = by_loss(task, Target(task.initial, 0.01 * rows[1], 0), records)
    assert found.argmax() == 1 and found[1] > 0
    still = by_loss(task, Target(task.initial, 0 * rows[1], 0), records)
    assert still.tolist() == [0.0] * 4


def test_candidates_do_not_show_themselves() -> None:
    assert repr(Candidates(torch.ones(2, 5), torch.zeros(2))) == (
        "Candidates(2 of shape (5,))"
    )
