from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.dpsgd import DPSGD
from dpdl.algorithms.qg_momentum import QGMomentum
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import DEFAULT_THREATS
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.algorithms.twins import (
    GRAPHS,
    SIGMA,
    STEP,
    B,
    C,
    Quadratics,
    apart,
    batches_of,
    plain,
    product,
)
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.qg_momentum import PlainQGMomentum


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
@pytest.mark.parametrize(("beta", "mu"), [(0.9, 0.9), (0.5, 0.2)])
def test_product_equals_its_plain_loops(
    name: str, weights: str, beta: float, mu: float
) -> None:
    graph = graphs.build(name, 5, weights, 7)
    state = product(QGMomentum(momentum=beta, tracking=mu, **STEP), graph, 7)
    twin = plain(PlainQGMomentum, graph, 7, beta=beta, mu=mu)
    assert apart(state["x"], twin.x) < 1e-10
    assert apart(state["mh"], twin.m) < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6 or name == "complete"


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
def test_on_any_graph_the_mean_model_follows_the_momentum_recursion_of_one_agent(
    name: str, weights: str
) -> None:
    """Mixing keeps the mean, so the mean of (x - x') / eta is the mean of m, and with c = mu + (1 - mu) beta

    mean x_{t+1} = mean x_t - eta (g_t + beta (1 - mu) sum_{s < t} c^{t-1-s} g_s),   g = the mean gradient.
    """
    beta, mu, eta = 0.8, 0.6, 0.1
    graph = graphs.build(name, 5, weights, 7)
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(C), SIGMA, B, Reproducible(2))
    net, algorithm = Net(graph), QGMomentum(lr=eta, momentum=beta, tracking=mu)
    state, c = algorithm.init(task.initial.repeat(5, 1)), mu + (1 - mu) * beta
    g: list[torch.Tensor] = []
    for t in range(1, 7):
        batches = batches_of(5, t, 1)
        x = state["x"].mean(0)
        g.append(grad.own(state["x"], batches, net.selves, t).private.mean(0))
        past = sum((c ** (t - 2 - s) * g[s] for s in range(t - 1)), torch.zeros_like(x))
        state, _ = algorithm.round(state, batches, net, grad, t)
        assert (
            state["x"].mean(0) - (x - eta * (g[-1] + beta * (1 - mu) * past))
        ).abs().max() < 1e-12


def test_without_momentum_it_is_the_mixed_step_whatever_is_tracked() -> None:
    world, graph = Quadratics(5), graphs.ring(5)
    for mu in (0.0, 0.9):
        state = world.train(QGMomentum(lr=0.05, momentum=0.0, tracking=mu), graph, 3)
        x = torch.zeros(5, 3, dtype=torch.float64)
        for _ in range(3):
            x = torch.from_numpy(graph.W.copy()) @ (
                x - 0.05 * (torch.einsum("nij,nj->ni", world.H, x) - world.b)
            )
        assert (state["x"] - x).abs().max() < 1e-12


def test_local_gradients_that_cancel_leave_no_momentum_on_a_complete_graph() -> None:
    """At the common optimum agents pull apart with opposite gradients: local momentum keeps them, quasi-global not."""
    world, graph = Quadratics(4), graphs.complete(4)
    x = world.optimum.repeat(4, 1)
    remembered = {}
    for kind, options, key in ((QGMomentum, {"tracking": 0.9}, "mh"), (DPSGD, {}, "m")):
        algorithm = kind(lr=0.05, momentum=0.9, **options)
        state, _ = algorithm.round(
            algorithm.init(x), world.batches, Net(graph), world.grad, 1
        )
        remembered[kind] = float(state[key].abs().max())
    assert remembered[QGMomentum] < 1e-12
    assert remembered[DPSGD] > 0.1


def _sent(algorithm: QGMomentum, batches: list[Batch]) -> list[Leaving]:
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(C), 0.0, B, Reproducible(4))
    seen: list[Leaving] = []
    algorithm.round(
        algorithm.init(task.initial.repeat(5, 1)),
        batches,
        Net(graphs.ring(5), observers=[seen.append]),
        grad,
        1,
    )
    return seen


def test_one_record_moves_the_one_message_by_at_most_the_declared_sensitivity() -> None:
    algorithm = QGMomentum(lr=0.3, momentum=0.9, tracking=0.9)
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    (before,), (after,) = _sent(algorithm, whole), _sent(algorithm, less)
    moved = (before.rows - after.rows).norm(dim=1)
    grad = private_gradient(
        Task(small_module()), PerSample(C), SIGMA, B, Reproducible(4)
    )
    (release,) = algorithm.releases(grad)
    assert (release.channel, release.private, release.noise_multiplier) == (
        before.channel,
        True,
        SIGMA,
    )
    assert release.sensitivity == pytest.approx(0.3 * C / B)
    assert 0 < moved[2] <= release.sensitivity * (1 + 1e-9)
    assert moved[[0, 1, 3, 4]].max() == 0
    assert {
        algorithm.disclosure.exposure(graphs.ring(5), 0, threat)
        for threat in DEFAULT_THREATS
    } == {1.0}


def test_without_clipping_no_sensitivity_is_declared() -> None:
    grad = private_gradient(Task(small_module()), Unclipped(), 1.5, 6, Reproducible(4))
    (release,) = QGMomentum(lr=0.3, momentum=0.9, tracking=0.9).releases(grad)
    assert release.sensitivity is None
