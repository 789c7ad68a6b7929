from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.corn import MOST_AGENTS, CorNDSGD, Covariance, hidden, pairs
from dpdl.algorithms.covariance import MOST, shares
from dpdl.algorithms.covariance import STEP as STEP_OF_FACTORS
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.planning.plan import plan as plan_of
from dpdl.privacy.clip import PerSample
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, threat
from dpdl.tasks.task import Task
from dpdl.types import ClippedSum
from tests.algorithms.twins import GRAPHS, STEP, apart, plain, product
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.models import Given
from tests.reference.corn import PlainCorN, best_estimate, noise_of_pairs

UNEVEN = graphs.build("erdos-renyi:0.4", 6, "sinkhorn", 1)


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
def test_it_equals_its_plain_loops(name: str, weights: str) -> None:
    graph = graphs.build(name, 5, weights, 7)

    def shared(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(generator(7, "link", t, i, j).standard_normal(length))

    state = product(CorNDSGD(momentum=0.7, horizon=3, **STEP), graph, 7)
    c = shares(graph, 3)
    twin = plain(PlainCorN, graph, 7, beta=0.7, c=c, shared=shared)
    assert apart(state["x"], twin.x) < 1e-10
    assert apart(state["m"], twin.m) < 1e-10


def test_pairs_are_what_visits_would_be_on_a_complete_graph() -> None:
    found, wanted = pairs(Net(graphs.ring(4))), Net(graphs.complete(4)).visits
    assert found.edges.tolist() == wanted.edges.tolist()
    assert found.host.tolist() == wanted.host.tolist()


def test_the_noise_of_all_agents_has_the_covariance_that_is_accounted_for() -> None:
    c, size = shares(UNEVEN, 1), 60_000
    grad = private_gradient(
        Task(small_module()), PerSample(0.6), 1.5, 6, Reproducible(4)
    )
    net, rows = Net(UNEVEN), torch.zeros(6, size)
    shared = grad.paired(rows, pairs(net), c, 3).double().numpy() / grad.std
    found, wanted = shared @ shared.T / size, noise_of_pairs(c) - np.eye(6)
    assert np.abs(found - wanted).max() < 6 * wanted.max() / math.sqrt(size)
    assert np.abs(shared.sum(axis=0)).max() < 1e-5 * np.abs(shared).max()


@pytest.mark.parametrize("horizon", [1, 6])
def test_exposure_is_what_the_best_prediction_from_the_other_agents_leaves(
    horizon: int,
) -> None:
    c, disclosure = shares(UNEVEN, horizon), Covariance(horizon)
    for agent in range(6):
        others = [j for j in range(6) if j != agent]
        outside = disclosure.exposure(UNEVEN, agent, EAVESDROPPER)
        rest = best_estimate(noise_of_pairs(c), agent, others)
        assert outside == pytest.approx(1 / rest)
        assert outside == disclosure.exposure(UNEVEN, agent, FINAL_MODEL)
        for k in range(1, 7):
            worst = max(
                1
                / best_estimate(
                    noise_of_pairs(c, set(J)), agent, [j for j in others if j not in J]
                )
                for J in itertools.combinations(others, min(k, 5))
            )
            found = disclosure.exposure(UNEVEN, agent, threat(f"neighbours:{k}"))
            assert found == pytest.approx(worst)
            assert found >= outside


def test_the_worst_listener_may_be_no_neighbour() -> None:
    """On a bipartite graph agents of one side share most noise, and never talk."""
    graph, c = graphs.bipartite(10), shares(graphs.bipartite(10), 1)
    others = range(1, 10)
    leaves = {
        j: 1 / best_estimate(noise_of_pairs(c, {j}), 0, [o for o in others if o != j])
        for j in others
    }
    around = set(graph.neighbours(0).tolist()) - {0}
    worst = max(leaves, key=lambda j: leaves[j])
    assert worst not in around
    assert leaves[worst] > 1.15 * max(leaves[j] for j in around)
    found = Covariance(1).exposure(graph, 0, threat("neighbours:1"))
    assert found == pytest.approx(leaves[worst])


def test_too_many_coalitions_count_as_own_noise_alone() -> None:
    found = Covariance(1).exposure(graphs.complete(30), 0, threat("neighbours:10"))
    assert found == 1.0


def test_an_eavesdropper_computes_every_noisy_gradient_from_the_messages() -> None:
    """So nothing smaller than the whole precision matrix could be claimed."""
    heard: list[Tensor] = []
    graph, eta = graphs.ring(5), 0.125
    task = Given((7,), lambda row, *_: ClippedSum(0 * row, 0.0, 0, 0))
    grad = private_gradient(task, PerSample(1.0), 1.0, 4, Reproducible(2))
    algorithm = CorNDSGD(lr=eta)
    net = Net(graph, observers=[lambda leaving: heard.append(leaving.rows.clone())])
    state = algorithm.init(torch.zeros(5, 7, dtype=torch.float64))
    batches = [small_batch(4, k) for k in range(5)]
    for t in (1, 2):
        state, _ = algorithm.round(state, batches, net, grad, t)
    W = torch.from_numpy(graph.W.copy())
    own = grad.own(state["x"], batches, net.selves, 2).private
    noisy = grad.paired(own, pairs(net), shares(graph, 1), 2)
    assert torch.allclose((W @ heard[0] - heard[1]) / eta, noisy)


def test_a_plan_takes_the_noise_of_its_own_that_the_worst_exposure_needs() -> None:
    own = {
        name: plan_of(_small(name)).grad.noise_multiplier
        for name in ("dp-dpsgd", "corn-dsgd")
    }
    worst = hidden(shares(graphs.ring(6), 1)).max()
    assert worst < 0.5
    assert own["corn-dsgd"] / own["dp-dpsgd"] == pytest.approx(worst**0.5, rel=1e-3)


def _small(name: str, **options: object) -> Experiment:
    words = {"dataset": "digits", "agents": 6, "rounds": 3, "epsilon": 2.0, "batch": 20}
    return Experiment(algorithm=name, **{**words, **options})


def test_with_secure_noise_the_pairs_are_gone_from_the_average() -> None:
    task = Given((400,), lambda row, *_: ClippedSum(0 * row, 0.0, 0, 0))
    grad = private_gradient(task, PerSample(1.0), 1.0, 4, Secure())
    algorithm, net = CorNDSGD(lr=0.125), Net(graphs.path(5))
    batches = [small_batch(4, k) for k in range(5)]
    state, _ = algorithm.round(
        algorithm.init(torch.zeros(5, 400)), batches, net, grad, 1
    )
    own = 0.125 / 4  # eta sigma C / B
    assert float(state["x"].mean(0).std()) == pytest.approx(own / 5**0.5, rel=0.2)


def test_a_secure_plan_is_made_for_all_graphs_that_are_allowed() -> None:
    plan = plan_of(_small("corn-dsgd", randomness="secure", epsilon=None, sigma=4.0))
    assert not plan.randomness.repeatable
    assert "secret of its two ends" in plan.stated.prose(3)
    assert max(1, MOST) ** 2 * (STEP_OF_FACTORS**-2 + 2 * (MOST_AGENTS - 1)) <= 2**15


def test_what_is_told_of_the_noise_of_pairs_is_what_it_is() -> None:
    link, c = CorNDSGD(horizon=6).link_noise(UNEVEN), shares(UNEVEN, 6)
    assert link.factor == c.max() and link.least == min(c[c > 0]) < link.factor
    assert link.most == max((row > 0).sum() for row in c)
    assert CorNDSGD().link_noise(graphs.complete(1)) is None


def test_what_has_no_proof_is_refused() -> None:
    with pytest.raises(InputError, match="weight_decay must be 0"):
        plan_of(_small("corn-dsgd", randomness="secure", weight_decay=1e-4))
    with pytest.raises(InputError, match="at most 128 agents, not 129"):
        CorNDSGD().check(graphs.ring(129))
    with pytest.raises(InputError, match="horizon must be at most 10000"):
        plan_of(_small("corn-dsgd", horizon=10_001))
