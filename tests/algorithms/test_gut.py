from __future__ import annotations

import itertools

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.gut import GUT
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.privacy.clip import Unclipped
from dpdl.privacy.noise import Reproducible
from tests.algorithms import tracking
from tests.mechanisms import private_gradient
from tests.reference.gut import GUTLoops


@pytest.mark.parametrize("mu", [0.1, 0.8])
@tracking.several_graphs
def test_product_equals_gut_as_plain_loops(graph: Graph, mu: float) -> None:
    """The loops write the bracket out, with all its models and step sizes; in the product they have cancelled."""
    loops = tracking.reference(GUTLoops, graph, mu=mu)
    for t, state in enumerate(
        tracking.play(GUT(tracking=mu, **tracking.OPTIONS), graph), 1
    ):
        loops.round(t, tracking.samples_of(t))
        assert tracking.apart(state["x"], loops.x) < 1e-10
        assert tracking.apart(state["b"], loops.bracket) < 1e-10
        assert (
            tracking.apart(
                state["wx"], [loops.mixed(i, loops.x) for i in range(tracking.AGENTS)]
            )
            < 1e-10
        )
    assert t == tracking.ROUNDS


@tracking.several_graphs
def test_mean_step_is_the_mean_gradient_because_the_corrections_sum_to_zero(
    graph: Graph,
) -> None:
    for state in tracking.play(GUT(tracking=0.8, **tracking.OPTIONS), graph):
        assert state["b"].mean(dim=0).abs().max() < 1e-12
        assert state["b"].norm() > 0.1 or graph.name == "complete"


def test_mu_zero_is_d_psgd() -> None:
    graph, grad, x = (
        graphs.build("star", tracking.AGENTS, "sinkhorn", 2),
        tracking.gradient(),
        tracking.starts(),
    )
    net, W = Net(graph), torch.from_numpy(graph.W.copy())
    for t, state in enumerate(tracking.play(GUT(tracking=0.0, lr=0.1), graph), 1):
        x = W @ x - 0.1 * grad.own(x, tracking.batches_of(t), net.selves, t).private
        assert (state["x"] - x).abs().max() < 1e-12


@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_identical_data_at_all_agents_make_it_plain_sgd(mu: float) -> None:
    world = tracking.Quadratics()
    same = [world.batches[0]] * 5
    algorithm, net = (
        GUT(lr=0.05, tracking=mu, lr_decay=0.5, lr_decay_every=3),
        Net(world.graph),
    )
    state, x = algorithm.init(world.start()), world.task.initial
    for t in range(1, 9):
        state, _ = algorithm.round(state, same, net, world.grad, t)
        x = x - 0.05 * 0.5 ** ((t - 1) // 3) * world.gradients(x.repeat(5, 1))[0]
        assert (state["x"] - x).abs().max() < 1e-12


def test_bias_on_heterogeneous_quadratics_shrinks_as_mu_grows_and_vanishes_at_one() -> (
    None
):
    world, eta = tracking.Quadratics(), 0.1
    biases = {}
    for mu in (0.0, 0.3, 0.7, 1.0):
        x = world.settle(GUT(lr=eta, tracking=mu), 180)["x"]
        biases[mu] = world.distance(x)
        at_rest = (1 - mu) * world.gradients(x) - (world.W @ x - x) / eta
        assert at_rest.abs().max() < 1e-5
    assert biases[0.0] == pytest.approx(world.d_psgd(eta, 400), rel=1e-6)
    assert biases[0.0] > 1.2 * biases[0.3] > 2 * biases[0.7] > 0.1
    assert biases[1.0] < 1e-6


def test_the_stated_bounds_on_mu_and_on_the_step_are_sharp() -> None:
    """Spectral radius of one round, as a matrix on (x_t, x_{t-1}), for gradients h x."""

    def radius(graph: Graph, mu: float, step: float) -> float:
        W, one = (
            torch.from_numpy(graph.W.copy()),
            torch.eye(len(graph), dtype=torch.float64),
        )
        now, before = (1 + mu) * W - step * one, -mu * (W - step * one)
        matrix = torch.cat(
            [torch.cat([now, before], dim=1), torch.cat([one, 0 * one], dim=1)]
        )
        return float(torch.linalg.eigvals(matrix).abs().max())

    for name, mu in (
        *itertools.product(["ring", "torus", "bipartite", "complete"], [0.0, 0.1]),
        ("ring", 0.8),
    ):
        graph = graphs.build(name, 16 if name == "torus" else 10, "metropolis", 0)
        most = (1 + (1 + 2 * mu) * float(graph.eigenvalues[-1])) / (1 + mu)
        assert radius(graph, mu, 0.99 * most) < 1 < radius(graph, mu, 1.01 * most)


def test_product_follows_the_stated_bound_on_mu() -> None:
    """Mixing alone, smallest eigenvalue -2/3: below mu = 1/4 the models agree, above it they drift apart."""
    graph = graphs.build("bipartite", 10, "metropolis", 0)
    assert float(graph.eigenvalues[-1]) == pytest.approx(-2 / 3)
    grad = private_gradient(
        tracking.only_noise().model, Unclipped(), 0.0, 1, Reproducible(0)
    )
    spread = {}
    for mu in (0.2, 0.3):
        algorithm = GUT(lr=0.1, tracking=mu)
        net = Net(graph)
        state = algorithm.init(
            torch.randn(
                10,
                tracking.WIDE,
                dtype=torch.float64,
                generator=torch.Generator().manual_seed(0),
            )
        )
        for t in range(1, 81):
            state, _ = algorithm.round(state, [tracking.nothing()] * 10, net, grad, t)
        spread[mu] = float(state["x"].std(dim=0).max())
    assert spread[0.2] < 0.02 < 10 < spread[0.3]
    GUT(lr=0.1, tracking=0.2).check(graph)
    with pytest.raises(InputError, match=r"give a tracking below 0\.25"):
        GUT(lr=0.1, tracking=0.3).check(graph)


def test_any_mu_is_accepted_where_no_eigenvalue_is_negative_and_mu_one_is_refused_on_an_even_ring() -> (
    None
):
    GUT(lr=0.1, tracking=1.0).check(graphs.complete(4))
    GUT(lr=0.1, tracking=0.99).check(graphs.ring(6))
    with pytest.raises(InputError, match="diverges on this graph"):
        GUT(lr=0.1, tracking=1.0).check(graphs.ring(6))


def test_one_row_leaves_for_every_neighbour_and_one_more_in_the_first_round() -> None:
    algorithm = GUT(lr=0.1, tracking=0.3)
    tap = tracking.taped(
        algorithm, [[tracking.nothing()] * 5] * 3, tracking.only_noise()
    )
    assert [
        release.channel for release in algorithm.releases(tracking.only_noise())
    ] == ["model"]
    assert [
        {name: len(found) for name, found in round.items()} for round in tap.rounds
    ] == [
        {"model": 2},
        {"model": 1},
        {"model": 1},
    ]
    assert all(
        len(found.edges) == 10 for round in tap.rounds for found in round["model"]
    )


def test_one_record_moves_the_model_by_at_most_what_is_declared() -> None:
    algorithm = GUT(lr=0.1, tracking=0.8)
    (model,) = algorithm.releases(tracking.gradient())
    assert model.private and model.noise_multiplier == tracking.SIGMA
    assert model.sensitivity == pytest.approx(0.1 * tracking.C / tracking.B)
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0]["model"] == 0
    assert moved[1]["model"] == pytest.approx(0.1 * tracking.C / tracking.B)
    unclipped = private_gradient(
        tracking.gradient().model, Unclipped(), 0.0, 4, Reproducible(0)
    )
    assert algorithm.releases(unclipped)[0].sensitivity is None
