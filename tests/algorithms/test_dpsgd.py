from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.dpdl import DPDL
from dpdl.algorithms.dpsgd import DMSGD, DPSGD
from dpdl.graph import Graph
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import DEFAULT_THREATS
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.algorithms.twins import GRAPHS, STEP, Quadratics, apart, plain, product
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.dpsgd import PlainDMSGD, PlainDPSGD


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_dpsgd_equals_its_plain_loops(name: str, weights: str, beta: float) -> None:
    graph = graphs.build(name, 5, weights, 7)
    state, twin = (
        product(DPSGD(momentum=beta, **STEP), graph, 7),
        plain(PlainDPSGD, graph, 7, beta=beta),
    )
    assert apart(state["x"], twin.x) < 1e-10
    assert apart(state["m"], twin.m) < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
def test_dmsgd_equals_dpdl_as_plain_loops_with_the_own_gradient_as_calibrated_one(
    name: str, weights: str
) -> None:
    graph = graphs.build(name, 5, weights, 7)
    state, twin = (
        product(DMSGD(momentum=0.7, **STEP), graph, 7),
        plain(PlainDMSGD, graph, 7, beta=0.7),
    )
    assert apart(state["x"], twin.x) < 1e-10
    assert apart(state["v"], twin.m) < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6 or name == "complete"


@pytest.mark.parametrize("graph", [graphs.ring(6), graphs.complete(4)])
def test_dmsgd_is_dpdl_without_calibration_where_all_agents_have_the_same_records(
    graph: Graph,
) -> None:
    """With weights 1/m DPDL adds up m equal cross-gradients, each times sqrt(m) / N: a larger step, nothing else."""
    m = int(graph.sizes[0])
    factor = m * m**0.5 / len(graph)
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(0.6), 0.0, 6, Reproducible(0))
    algorithms = (
        DPDL(lr=0.1, momentum=0.7, alpha=0.0),
        DMSGD(lr=0.1 * factor, momentum=0.7),
    )
    states = [a.init(task.initial.repeat(len(graph), 1)) for a in algorithms]
    for t in range(1, 6):
        batches = [small_batch(6, t)] * len(graph)
        states = [
            a.round(s, batches, Net(graph), grad, t)[0]
            for a, s in zip(algorithms, states, strict=True)
        ]
    assert (states[0]["x"] - states[1]["x"]).abs().max() < 1e-12
    assert (states[0]["v"] - factor * states[1]["v"]).abs().max() < 1e-12
    assert (states[0]["x"] - task.initial).abs().max() > 1e-3


def test_dpsgd_takes_the_gradient_before_mixing_and_dmsgd_mixes_the_step() -> None:
    """Two agents that share all weight equally: after a round the models of DMSGD agree, those of D-PSGD do not."""
    world, graph = Quadratics(2), graphs.complete(2)
    x = world.task.initial + torch.arange(6, dtype=torch.float64).reshape(2, 3)
    g = torch.einsum("nij,nj->ni", world.H, x) - world.b
    after = {}
    for kind in (DPSGD, DMSGD):
        algorithm = kind(lr=0.1, momentum=0.0)
        after[kind] = algorithm.round(
            algorithm.init(x), world.batches, Net(graph), world.grad, 1
        )[0]["x"]
    assert (after[DPSGD] - (x.mean(0) - 0.1 * g)).abs().max() < 1e-12
    assert (after[DMSGD] - (x - 0.1 * g).mean(0)).abs().max() < 1e-12


def _settled(world: Quadratics, graph: Graph, eta: float) -> Tensor:
    """Where x = W x - eta (H x - b) holds for all agents: one linear system."""
    N, d = world.b.shape
    system = torch.kron(
        torch.eye(N, dtype=torch.float64) - torch.from_numpy(graph.W.copy()),
        torch.eye(d).double(),
    )
    system += eta * torch.block_diag(*world.H)
    return torch.linalg.solve(system, eta * world.b.flatten()).view(N, d)


def test_dpsgd_keeps_a_bias_on_heterogeneous_quadratics_that_shrinks_with_the_step() -> (
    None
):
    world, graph = Quadratics(5), graphs.ring(5)
    bias = []
    for eta in (0.08, 0.02):
        rest, algorithm = _settled(world, graph, eta), DPSGD(lr=eta, momentum=0.0)
        assert (world.train(algorithm, graph, 3, rest)["x"] - rest).abs().max() < 1e-12
        bias.append(float((rest - world.optimum).norm(dim=1).mean()))
    assert bias[0] > 0.05 * float(world.optimum.norm())
    assert (
        2 < bias[0] / bias[1] < 6
    )  # to first order the bias is proportional to the step: 4


def test_dpsgd_settles_where_it_is_biased_even_from_the_common_optimum() -> None:
    world, graph = Quadratics(5), graphs.ring(5)
    rest, start = _settled(world, graph, 0.08), world.optimum.repeat(5, 1)
    x = world.train(DPSGD(lr=0.08, momentum=0.0), graph, 100, start)["x"]
    assert (x - rest).norm() < 0.02 * (start - rest).norm()


def _first_round(algorithm, batches: list[Batch]) -> dict[str, Tensor]:
    """What all agents send: in round 1, and the models they send in round 2; without noise."""
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(0.7), 0.0, 6, Reproducible(4))
    seen: list[Leaving] = []
    net, n = (
        Net(graphs.ring(5), observers=[seen.append]),
        1 + len(algorithm.releases(grad)),
    )
    state = algorithm.init(task.initial.repeat(5, 1))
    for t in (1, 2):
        state, _ = algorithm.round(state, batches, net, grad, t)
    return {
        f"{leaving.channel} {k}": leaving.rows.clone()
        for k, leaving in enumerate(seen[:n])
    }


@pytest.mark.parametrize("kind", [DPSGD, DMSGD])
def test_one_record_moves_what_is_sent_by_at_most_the_declared_sensitivity(
    kind: type,
) -> None:
    algorithm = kind(lr=0.3, momentum=0.7)
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    before, after = _first_round(algorithm, whole), _first_round(algorithm, less)
    moved = {name: (before[name] - after[name]).norm(dim=1) for name in before}
    grad = private_gradient(
        Task(small_module()), PerSample(0.7), 1.5, 6, Reproducible(4)
    )
    (private,) = [r for r in algorithm.releases(grad) if r.private]
    name = "model 1" if kind is DPSGD else "momentum 1"
    assert moved["model 0"].max() == 0
    assert 0 < moved[name][2] <= private.sensitivity * (1 + 1e-9)
    assert moved[name][[0, 1, 3, 4]].max() == 0
    assert private.sensitivity == pytest.approx(
        0.3 * 0.7 / 6 if kind is DPSGD else 0.7 / 6
    )
    assert private.noise_multiplier == 1.5


@pytest.mark.parametrize("kind", [DPSGD, DMSGD])
def test_every_channel_is_declared_and_one_release_is_disclosed(kind: type) -> None:
    algorithm = kind(lr=0.3, momentum=0.7)
    grad = private_gradient(
        Task(small_module(), dtype=torch.float64),
        PerSample(0.7),
        1.5,
        6,
        Reproducible(4),
    )
    sent = {
        name.split()[0]
        for name in _first_round(algorithm, [small_batch(4, k) for k in range(5)])
    }
    assert sent == {release.channel for release in algorithm.releases(grad)}
    assert {
        algorithm.disclosure.exposure(graphs.ring(5), 0, threat)
        for threat in DEFAULT_THREATS
    } == {1.0}


@pytest.mark.parametrize("kind", [DPSGD, DMSGD])
def test_without_clipping_no_sensitivity_is_declared(kind: type) -> None:
    grad = private_gradient(Task(small_module()), Unclipped(), 1.5, 6, Reproducible(4))
    (private,) = [r for r in kind(lr=0.3, momentum=0.7).releases(grad) if r.private]
    assert private.sensitivity is None
