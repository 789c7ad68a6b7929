from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.decor import Decor
from dpdl.algorithms.disclosure import PairedNoise
from dpdl.algorithms.dpsgd import DPSGD
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.planning.plan import plan as plan_of
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, threat
from dpdl.tasks.task import Task
from tests.algorithms.twins import GRAPHS, STEP, apart, plain, product
from tests.conftest import small_module
from tests.mechanisms import private_gradient
from tests.reference.decor import PlainDecor, sigma_eff


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_it_equals_its_plain_loops(name: str, weights: str, beta: float) -> None:
    graph = graphs.build(name, 5, weights, 7)

    def shared(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(generator(7, "link", t, i, j).standard_normal(length))

    state = product(Decor(momentum=beta, correlation=2.0, **STEP), graph, 7)
    twin = plain(PlainDecor, graph, 7, beta=beta, c=2.0, shared=shared)
    assert apart(state["x"], twin.x) < 1e-10
    assert apart(state["m"], twin.m) < 1e-10


def test_without_correlation_it_is_dpsgd() -> None:
    graph = graphs.ring(5)
    without = product(Decor(momentum=0.7, correlation=0.0, **STEP), graph, 3)
    assert torch.equal(
        without["x"], product(DPSGD(momentum=0.7, **STEP), graph, 3)["x"]
    )


def _noises(
    graph: graphs.Graph, c: float, size: int = 40_000
) -> tuple[Tensor, PrivateGradient]:
    """What every agent adds for its links, on rows of zeros."""
    task = Task(small_module())
    grad = private_gradient(task, PerSample(0.6), 1.5, 6, Reproducible(4))
    return grad.paired(torch.zeros(len(graph), size), Net(graph).visits, c, 3), grad


@pytest.mark.parametrize("graph", [graphs.ring(6), graphs.complete(4), graphs.star(5)])
def test_the_noise_of_links_has_the_laplacian_as_covariance_and_cancels_in_the_sum(
    graph: graphs.Graph,
) -> None:
    rows, grad = _noises(graph, 2.0)
    links = (graph.W > 0) & ~np.eye(len(graph), dtype=bool)
    laplacian = np.diag(links.sum(axis=1)) - links
    found = (rows.double() @ rows.double().T / rows.shape[1]).numpy() / (
        2.0 * grad.std
    ) ** 2
    assert np.abs(found - laplacian).max() < 6 * laplacian.max() / math.sqrt(
        rows.shape[1]
    )
    assert float(rows.double().sum(dim=0).abs().max()) < 1e-5 * float(rows.abs().max())


@pytest.mark.parametrize("name", ["ring", "complete", "star", "bipartite", "path"])
@pytest.mark.parametrize("c", [0.5, 4.0])
def test_exposure_is_what_the_best_prediction_from_the_other_agents_leaves(
    name: str, c: float
) -> None:
    graph = graphs.build(name, 6, "metropolis", 0)
    for agent in range(6):
        outside = PairedNoise(c).exposure(graph, agent, EAVESDROPPER)
        assert outside == pytest.approx(sigma_eff(graph.W, agent, set(), c) ** -2)
        assert outside == PairedNoise(c).exposure(graph, agent, FINAL_MODEL)
        around = [int(j) for j in graph.neighbours(agent) if j != agent]
        for k in range(1, len(around) + 2):
            coalitions = itertools.combinations(around, min(k, len(around)))
            worst = max(sigma_eff(graph.W, agent, set(J), c) ** -2 for J in coalitions)
            assert PairedNoise(c).exposure(
                graph, agent, threat(f"neighbours:{k}")
            ) == pytest.approx(worst)


def test_exposure_between_one_over_n_and_one() -> None:
    ring = graphs.ring(10)
    assert PairedNoise(0.0).exposure(ring, 0, EAVESDROPPER) == 1.0
    assert PairedNoise(1e4).exposure(ring, 0, EAVESDROPPER) == pytest.approx(
        1 / 10, rel=1e-3
    )
    assert PairedNoise(1e4).exposure(ring, 0, threat("neighbours:1")) == pytest.approx(
        1 / 9, rel=1e-3
    )
    assert PairedNoise(1e4).exposure(ring, 0, threat("neighbours:2")) == 1.0


def test_too_many_coalitions_count_as_all_neighbours() -> None:
    graph = graphs.complete(40)
    assert PairedNoise(3.0).exposure(graph, 0, threat("neighbours:10")) == 1.0


def test_a_plan_takes_less_noise_of_its_own_for_the_same_epsilon_and_says_what_a_neighbour_learns() -> (
    None
):
    e = Experiment(dataset="digits", agents=6, rounds=3, epsilon=2.0, batch=20)
    plans = {
        name: plan_of(dataclasses.replace(e, algorithm=name))
        for name in ("dp-dpsgd", "decor")
    }
    own = {name: plan.grad.noise_multiplier for name, plan in plans.items()}
    exposure = PairedNoise(3.0).exposure(graphs.ring(6), 0, EAVESDROPPER)
    assert own["decor"] / own["dp-dpsgd"] == pytest.approx(exposure**0.5, rel=1e-3)
    question = plans["decor"].privacy
    assert (
        question.with_noise(own["decor"]).worst(EAVESDROPPER)
        <= 2
        < question.with_noise(own["decor"]).worst(ONE_NEIGHBOUR)
    )


def test_secure_randomness_is_refused() -> None:
    with pytest.raises(InputError, match="no common secret"):
        plan_of(
            Experiment(
                algorithm="decor", dataset="digits", randomness="secure", epsilon=1.0
            )
        )


def test_its_options_are_refused_elsewhere() -> None:
    with pytest.raises(InputError, match="correlation is not an option of dp-dpsgd"):
        dataclasses.replace(
            Experiment(algorithm="dp-dpsgd"), correlation=2.0
        ).resolved()
