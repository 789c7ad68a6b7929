"""Records that are made for the audit are as long as they can be, and known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dpdl.audit.canaries import (
    LENGTH,
    LinearModel,
    batch,
    canaries,
    company,
    crowd,
    public_accuracy,
    push,
    real_records,
    signs,
)
from dpdl.privacy.clip import PerSample


def test_the_gradient_of_a_record_is_the_record() -> None:
    model, x = LinearModel(3), torch.tensor([1.0, -2.0, 0.5])
    w = torch.zeros(3, requires_grad=True)
    model.loss(model.parameters(w), x, torch.tensor(0), torch.tensor(0)).backward()
    assert torch.equal(w.grad, x) and model.sizes == (3,)


def test_every_canary_has_a_coordinate_of_its_own() -> None:
    x = canaries(torch.tensor([2, 0]), 4, clip_norm=0.5)
    assert x.tolist() == [[0, 0, 500, 0], [500, 0, 0, 0]]


def test_clipping_shortens_each_record_to_the_norm() -> None:
    x = canaries(torch.tensor([0, 1]), 5, clip_norm=2.0)
    clipped = PerSample(2.0).gradient(LinearModel(5), torch.zeros(5), batch(x), 1)
    assert clipped.gradient.tolist() == pytest.approx([2, 2, 0, 0, 0])


@pytest.mark.parametrize(
    ("where", "factor"), [("none", 0), ("against", -1), ("along", 1)]
)
def test_a_crowd_pulls_along_one_coordinate(where: str, factor: int) -> None:
    x = crowd(where, 3, 4, clip_norm=1.0)
    assert x.shape == (3, 4)
    assert x.tolist() == [[factor * LENGTH, 0, 0, 0]] * 3


def test_company_is_dense_equal_and_of_full_length() -> None:
    x = company(1, 5, 16, clip_norm=2.0)
    assert x.shape == (5, 16) and (x == x[0]).all()
    assert float(x[0].norm()) == pytest.approx(2.0 * LENGTH)
    assert torch.equal(x[0].sign(), signs(1, 16))
    assert not torch.equal(signs(1, 64), signs(2, 64))


def test_the_push_of_company_is_the_sum_of_its_clipped_records() -> None:
    x = company(3, 5, 16, clip_norm=1.0)
    clipped = PerSample(1.0).gradient(LinearModel(16), torch.zeros(16), batch(x), 1)
    torch.testing.assert_close(clipped.gradient, push(3, 5, 16))
    assert float(push(3, 5, 16).norm()) == pytest.approx(5)


def test_places_beyond_the_records_hold_nothing() -> None:
    assert real_records(np.array([0, 3, 7, 9]), 7).tolist() == [0, 3]
    assert real_records(np.array([8]), 7).tolist() == []


def test_only_the_first_model_is_right_on_public_records() -> None:
    assert public_accuracy(torch.zeros(40)) == 1
    assert public_accuracy(torch.ones(40)) == 0
    half = torch.cat([torch.zeros(8), torch.ones(32)])
    assert math.isclose(public_accuracy(half), 0.5)
