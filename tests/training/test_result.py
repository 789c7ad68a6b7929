"""What a run gives back is what was trained."""

from __future__ import annotations

import pytest
import torch

from dpdl.tasks.data import Dataset
from tests.training.small import train


def test_the_trained_module_is_the_measured_one(blobs: Dataset) -> None:
    result = train(blobs)
    right = result.module().float()(blobs.x_test).argmax(1) == blobs.y_test
    assert float(right.double().mean()) == pytest.approx(
        result.summary["accuracy"]["average_model"], abs=1e-9
    )
    right = result.module(agent=2).float()(blobs.x_test).argmax(1) == blobs.y_test
    assert 0 <= float(right.double().mean()) <= 1
    assert not torch.equal(result.models[2], result.models.mean(0))
