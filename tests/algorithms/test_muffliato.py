from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.muffliato import Muffliato, acceleration, default_steps, gossip
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import DEFAULT_THREATS
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.algorithms.twins import GRAPHS, SIGMA, STEP, B, C, apart, plain, product
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.muffliato import PlainMuffliato

MIXES = [*GRAPHS, ("bipartite", "sinkhorn"), ("path", "metropolis")]


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
@pytest.mark.parametrize("steps", [None, 1, 4])
def test_product_equals_its_plain_loops(
    name: str, weights: str, steps: int | None
) -> None:
    graph = graphs.build(name, 5, weights, 7)
    state, twin = (
        product(Muffliato(gossip_steps=steps, **STEP), graph, 7),
        plain(PlainMuffliato, graph, 7, steps=steps),
    )
    assert apart(state["x"], twin.x) < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6 or name == "complete"


@pytest.mark.parametrize(("name", "weights"), MIXES)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_gossip_keeps_the_mean(name: str, weights: str, steps: int) -> None:
    y = (
        torch.randn(
            8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
        )
        + 3
    )
    mixed = gossip(y, Net(graphs.build(name, 8, weights, 1)), steps)
    assert (mixed.mean(0) - y.mean(0)).abs().max() < 1e-13
    assert (mixed - y).abs().max() > 0.1


def _rate(graph: Graph) -> tuple[float, float]:
    """r and s of the bound r^K (1 + K s)."""
    s = math.sqrt(1 - graph.rho)
    return graph.lambda2 / (1 + s), s


@pytest.mark.parametrize(("name", "weights"), [m for m in MIXES if m[0] != "complete"])
@pytest.mark.parametrize("steps", [1, 3, 10])
def test_disagreement_shrinks_by_the_rate_of_the_second_order_iteration_and_not_faster(
    name: str, weights: str, steps: int
) -> None:
    """For lambda = rho cos(a): P_k(lambda) = r^k (cos(k a) + s cos(a) sin(k a) / sin(a)); |sin(k a)| <= k |sin(a)|."""
    graph = graphs.build(name, 8, weights, 1)
    r, s = _rate(graph)
    bound = r**steps * (1 + steps * s)
    y = torch.randn(
        8, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    y = y - y.mean(0)
    left = gossip(y, Net(graph), steps)
    assert float(left.norm() / y.norm()) <= bound + 1e-12
    values, vectors = np.linalg.eigh(graph.W)
    worst = torch.from_numpy(
        vectors[:, [int(np.argmin(np.abs(np.abs(values) - graph.lambda2)))]].copy()
    )
    assert float(gossip(worst, Net(graph), steps).norm()) == pytest.approx(
        bound, rel=1e-9
    )
    assert (
        steps == 1 or bound < graph.lambda2**steps
    )  # faster than mixing as often without acceleration


def test_one_step_on_a_complete_graph_is_consensus() -> None:
    graph = graphs.complete(7)
    y = torch.randn(
        7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    assert default_steps(graph) == 1
    assert acceleration(graph) == 1.0
    assert (gossip(y, Net(graph), 1) - y.mean(0)).abs().max() < 1e-15


def test_the_default_number_of_steps_follows_the_second_eigenvalue() -> None:
    assert default_steps(graphs.ring(10)) == math.ceil(
        math.log(10) / math.sqrt(1 - (1 + 2 * math.cos(math.pi / 5)) / 3)
    )
    assert default_steps(graphs.build("bipartite", 10)) == math.ceil(
        math.log(10) / math.sqrt(1 - 1 / 6)
    )
    assert (
        default_steps(graphs.ring(30))
        > default_steps(graphs.ring(10))
        > default_steps(graphs.complete(10))
    )


def _messages(
    algorithm: Muffliato,
    graph: Graph,
    batches: list[Batch],
    sigma: float = 0.0,
    x: Tensor | None = None,
):
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(C), sigma, B, Reproducible(4))
    seen: list[Leaving] = []
    x = task.initial.repeat(len(graph), 1) if x is None else x
    state, _ = algorithm.round(
        algorithm.init(x), batches, Net(graph, observers=[seen.append]), grad, 1
    )
    return state["x"], seen


def test_a_single_agent_takes_a_plain_step() -> None:
    graph = graphs.build("complete", 1)
    task = Task(small_module(), dtype=torch.float64)
    batch = small_batch(4, 1)
    x, seen = _messages(Muffliato(lr=0.1), graph, [batch])
    step = 0.1 * PerSample(C).gradient(task, task.initial, batch, B).gradient
    assert (x[0] - (task.initial - step)).abs().max() < 1e-15
    assert all(len(leaving.edges) == 0 for leaving in seen)


def test_every_gossip_step_is_one_message_to_every_neighbour_on_the_declared_channel() -> (
    None
):
    graph = graphs.ring(6)
    algorithm = Muffliato(lr=0.1)
    _, seen = _messages(algorithm, graph, [small_batch(3, k) for k in range(6)])
    assert [len(leaving.edges) for leaving in seen] == [12] * default_steps(graph)
    assert {leaving.channel for leaving in seen} == {"gossip"}
    assert {
        algorithm.disclosure.exposure(graph, 0, threat) for threat in DEFAULT_THREATS
    } == {1.0}


def test_one_record_moves_the_first_message_by_at_most_the_declared_sensitivity() -> (
    None
):
    algorithm = Muffliato(lr=0.3)
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    first = [
        _messages(algorithm, graphs.ring(5), batches)[1][0].rows
        for batches in (whole, less)
    ]
    moved = (first[0] - first[1]).norm(dim=1)
    grad = private_gradient(
        Task(small_module()), PerSample(C), SIGMA, B, Reproducible(4)
    )
    (release,) = algorithm.releases(grad)
    assert release.private
    assert release.noise_multiplier == SIGMA
    assert release.sensitivity == pytest.approx(0.3 * C / B)
    assert 0 < moved[2] <= release.sensitivity * (1 + 1e-9)
    assert moved[[0, 1, 3, 4]].max() == 0


def test_the_noise_on_the_update_has_deviation_eta_sigma_c_over_b() -> None:
    """Empty batches: the first message is the model minus eta times noise."""
    graph = graphs.ring(40)
    task = Task(small_module(), dtype=torch.float64)
    x = task.initial.repeat(40, 1)
    _, seen = _messages(Muffliato(lr=0.3), graph, [small_batch(0, 0)] * 40, SIGMA, x)
    noise = seen[0].rows - x
    assert noise.numel() > 2000
    assert float(noise.std()) == pytest.approx(0.3 * SIGMA * C / B, rel=0.06)


def test_without_clipping_no_sensitivity_is_declared() -> None:
    grad = private_gradient(Task(small_module()), Unclipped(), 1.5, 6, Reproducible(4))
    (release,) = Muffliato(lr=0.1).releases(grad)
    assert release.sensitivity is None


def test_a_graph_that_hardly_mixes_needs_a_number_of_steps() -> None:
    weak = Graph(np.array([[1 - 1e-13, 1e-13], [1e-13, 1 - 1e-13]]))
    with pytest.raises(InputError, match="gossip_steps"):
        Muffliato(lr=0.1).check(weak)
    Muffliato(lr=0.1, gossip_steps=2).check(weak)
    Muffliato(lr=0.1).check(graphs.ring(10))
