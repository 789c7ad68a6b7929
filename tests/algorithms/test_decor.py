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
from dpdl.algorithms.dpsgd import DPSGD
from dpdl.algorithms.secrets import SecretNoise
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph.weights import weigh
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.planning.plan import plan as plan_of
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, threat
from dpdl.tasks.task import Task
from dpdl.types import ClippedSum
from tests.algorithms.twins import GRAPHS, STEP, apart, plain, product
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.models import Given
from tests.reference.decor import PlainDecor, sigma_eff


def paired(c: float) -> SecretNoise:
    return Decor(correlation=c).disclosure


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
        outside = paired(c).exposure(graph, agent, EAVESDROPPER)
        assert outside == pytest.approx(sigma_eff(graph.W, agent, set(), c) ** -2)
        assert outside == paired(c).exposure(graph, agent, FINAL_MODEL)
        others = [j for j in range(6) if j != agent]
        for k in range(1, 7):
            coalitions = itertools.combinations(others, min(k, 5))
            worst = max(sigma_eff(graph.W, agent, set(J), c) ** -2 for J in coalitions)
            found = paired(c).exposure(graph, agent, threat(f"neighbours:{k}"))
            assert found == pytest.approx(worst)


def test_who_cuts_an_agent_off_from_the_others_need_be_no_neighbour() -> None:
    """Four agents hang together, and on nine others by one of these alone: it is agent 4."""
    links = np.zeros((13, 13), dtype=bool)
    for some in (range(4), range(1, 5), range(4, 13)):
        links[np.ix_(some, some)] = True
    np.fill_diagonal(links, False)
    graph = graphs.Graph(weigh(links, "metropolis", 0))
    assert 4 not in graph.neighbours(0)
    for k, J in ((1, {4}), (2, {1, 4})):
        found = paired(10.0).exposure(graph, 0, threat(f"neighbours:{k}"))
        assert found == pytest.approx(sigma_eff(graph.W, 0, J, 10.0) ** -2)
        assert found > 0.25


def test_without_correlation_an_agent_has_its_own_noise_alone() -> None:
    for listener in (EAVESDROPPER, ONE_NEIGHBOUR, FINAL_MODEL):
        assert paired(0.0).exposure(graphs.ring(6), 0, listener) == pytest.approx(1.0)


def test_two_agents_hide_in_each_other_by_hand() -> None:
    """(I + c^2 L)^-1 of one link: (1 + c^2) / (1 + 2 c^2)."""
    pair, c = graphs.ring(2), 3.0
    found = paired(c).exposure(pair, 0, EAVESDROPPER)
    assert found == pytest.approx((1 + c**2) / (1 + 2 * c**2))
    assert paired(c).exposure(pair, 0, ONE_NEIGHBOUR) == 1.0


def test_much_correlation_hides_an_agent_among_all_that_are_linked() -> None:
    assert paired(1e4).exposure(graphs.ring(6), 0, EAVESDROPPER) == pytest.approx(
        1 / 6, rel=1e-3
    )


def test_a_coalition_takes_the_secrets_of_its_links_away() -> None:
    """On a ring without agent 1, agent 0 is the end of a path of five."""
    c = 2.0
    path = graphs.path(5)
    links = (path.W > 0).astype(float)
    np.fill_diagonal(links, 0)
    laplacian = np.diag(links.sum(1)) - links
    wanted = np.linalg.inv(np.eye(5) + c**2 * laplacian)[0, 0]
    assert paired(c).exposure(graphs.ring(6), 0, ONE_NEIGHBOUR) == pytest.approx(wanted)
    assert paired(c).exposure(graphs.ring(6), 0, threat("neighbours:2")) == 1.0


def test_exposure_between_one_over_n_and_one() -> None:
    ring = graphs.ring(10)
    assert paired(0.0).exposure(ring, 0, EAVESDROPPER) == 1.0
    assert paired(1e4).exposure(ring, 0, EAVESDROPPER) == pytest.approx(
        1 / 10, rel=1e-3
    )
    assert paired(1e4).exposure(ring, 0, threat("neighbours:1")) == pytest.approx(
        1 / 9, rel=1e-3
    )
    assert paired(1e4).exposure(ring, 0, threat("neighbours:2")) == 1.0


def test_coalitions_that_are_too_many_to_be_tried_are_covered_by_a_bound() -> None:
    found = paired(3.0).exposure(graphs.bipartite(40), 0, threat("neighbours:10"))
    assert 1 / 30 < found < 0.05
    assert paired(3.0).exposure(graphs.ring(40), 0, threat("neighbours:10")) == 1.0


def test_a_plan_takes_less_noise_of_its_own_for_the_same_epsilon_and_says_what_a_neighbour_learns() -> (
    None
):
    e = Experiment(dataset="digits", agents=6, rounds=3, epsilon=2.0, batch=20)
    plans = {
        name: plan_of(dataclasses.replace(e, algorithm=name))
        for name in ("dp-dpsgd", "decor")
    }
    own = {name: plan.grad.noise_multiplier for name, plan in plans.items()}
    exposure = paired(3.0).exposure(graphs.ring(6), 0, EAVESDROPPER)
    assert own["decor"] / own["dp-dpsgd"] == pytest.approx(exposure**0.5, rel=1e-3)
    question = plans["decor"].privacy
    assert (
        question.with_noise(own["decor"]).worst(EAVESDROPPER)
        <= 2
        < question.with_noise(own["decor"]).worst(ONE_NEIGHBOUR)
    )


def secure(**options: object) -> Experiment:
    words = {"batch": 20, "rounds": 3, "epsilon": 2.0, **options}
    return Experiment(
        algorithm="decor", dataset="digits", agents=5, randomness="secure", **words
    )


def played(randomness: Randomness, c: float, rounds: int = 3) -> list[Tensor]:
    """The models of a few rounds of decor, from gradients that are all zero."""
    graph = graphs.ring(5)
    task = Given((400,), lambda row, *_: ClippedSum(0 * row, 0.0, 0, 0))
    grad = private_gradient(task, PerSample(1.0), 1.0, 4, randomness)
    algorithm, net = Decor(correlation=c, lr=0.125), Net(graph)
    state, models = algorithm.init(torch.zeros(5, 400)), []
    batches = [small_batch(4, k) for k in range(5)]
    for t in range(1, rounds + 1):
        state, _ = algorithm.round(state, batches, net, grad, t)
        models.append(state["x"])
    return models


@pytest.mark.parametrize("c", [0.5, 3.0])
def test_with_secure_noise_the_links_are_gone_from_the_average(c: float) -> None:
    first = played(Secure(), c)[0]
    own = 0.125 / 4  # eta sigma C / B
    assert float(first.std()) == pytest.approx(own * (1 + 2 * c**2) ** 0.5, rel=0.1)
    assert float(first.mean(0).std()) == pytest.approx(own / 5**0.5, rel=0.1)


def test_a_secure_plan_is_made_and_its_statement_says_who_knows_the_noise_of_a_link() -> (
    None
):
    plan = plan_of(secure())
    assert not plan.randomness.repeatable
    prose = plan.stated.prose(3)
    assert "against an eavesdropper" in prose and "simulation" not in prose
    assert "secret of its two ends, and hides nothing from either" in prose


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight_decay": 1e-4}, "weight_decay must be 0"),
        ({"correlation": 1000.0}, r"from 0\.0055 to 90\.5 where"),
        ({"correlation": 1e-4}, r"a correlation of 0, or from"),
        ({"epsilon": None, "sigma": 1e-3}, "use dtype float64"),
    ],
)
def test_secure_noise_of_links_without_a_proof_is_refused(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plan_of(secure(**options))


@pytest.mark.parametrize(
    "options",
    [
        {"weight_decay": 1e-4, "correlation": 0.0},
        {"epsilon": None, "sigma": 1e-3, "dtype": "float64"},
        {"weight_decay": 1e-4, "correlation": 1000.0, "randomness": "reproducible"},
    ],
)
def test_what_needs_no_such_proof_is_not_refused(options: dict[str, object]) -> None:
    plan_of(dataclasses.replace(secure(), **options))


def test_weight_decay_is_refused_before_anything_leaves_also_without_a_plan() -> None:
    heard: list[str] = []
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(0.6), 1.5, 6, Secure())
    algorithm = Decor(weight_decay=0.1)
    net = Net(graphs.ring(5), observers=[lambda leaving: heard.append(leaving.channel)])
    state = algorithm.init(task.initial.repeat(5, 1))
    batches = [small_batch(4, k) for k in range(5)]
    with pytest.raises(InputError, match="weight_decay must be 0"):
        algorithm.round(state, batches, net, grad, 1)
    assert heard == []


def test_its_options_are_refused_elsewhere() -> None:
    with pytest.raises(InputError, match="correlation is not an option of dp-dpsgd"):
        dataclasses.replace(
            Experiment(algorithm="dp-dpsgd"), correlation=2.0
        ).resolved()
