"""Noise of all pairs at once has the law of noise that is drawn pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dpdl.privacy.clip import PerSample
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.pair_noise import summing_to_zero
from dpdl.types import Visits
from tests.mechanisms import private_gradient
from tests.models import Given

SIZE = 60_000


@pytest.mark.parametrize("agents", [2, 5, 9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_has_the_laplacian_of_the_complete_graph_as_covariance_and_sums_to_zero(
    agents: int, dtype: torch.dtype
) -> None:
    rows = torch.zeros(agents, SIZE, dtype=dtype)
    found = summing_to_zero(
        Reproducible(5), rows, torch.arange(agents), agents, 2.0, 3
    ).double()
    expected = 4.0 * (agents * np.eye(agents) - 1)
    covariance = (found @ found.T / SIZE).numpy()
    assert np.abs(covariance - expected).max() < 6 * 4 * agents / math.sqrt(SIZE)
    assert float(found.sum(0).abs().max()) < 1e-4


def test_drawn_pair_by_pair_it_has_the_same_covariance() -> None:
    model = Given((SIZE,), lambda *_: None)
    grad = private_gradient(model, PerSample(1.0), 1.0, 1, Reproducible(5))
    rows, agents = torch.zeros(4, SIZE), torch.arange(4)
    some = ~np.eye(4, dtype=bool)
    at_once = grad.shared(rows, agents, some, 2.0, 1)
    pairs = torch.tensor([(i, j) for j in range(4) for i in range(4) if i != j])
    one_by_one = grad.paired(rows, Visits(pairs, pairs[:, 1]), 2.0, 1)
    for noise in (at_once.double(), one_by_one.double()):
        covariance = (noise @ noise.T / SIZE).numpy()
        expected = 4.0 * (4 * np.eye(4) - 1)
        assert np.abs(covariance - expected).max() < 6 * 16 / math.sqrt(SIZE)
    assert not torch.equal(at_once, one_by_one)


def test_agents_get_the_same_bits_wherever_they_are() -> None:
    whole = summing_to_zero(
        Reproducible(1), torch.ones(5, 700), torch.arange(5), 5, 1.0, 2
    )
    some = summing_to_zero(
        Reproducible(1), torch.ones(2, 700), torch.tensor([1, 4]), 5, 1.0, 2
    )
    assert torch.equal(whole[[1, 4]], some)


def test_without_others_or_noise_nothing_is_added() -> None:
    rows = torch.ones(1, 4)
    assert summing_to_zero(Reproducible(1), rows, torch.arange(1), 1, 2.0, 1) is rows
    assert summing_to_zero(Reproducible(1), rows, torch.arange(1), 3, 0.0, 1) is rows
