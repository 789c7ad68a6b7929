from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.compression import width
from dpdl.algorithms.porter import Porter
from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.transport import Post
from tests.algorithms import tracking
from tests.places import on_threads
from tests.reference.porter import PorterLoops

both = pytest.mark.parametrize("signs", [True, False])


@both
@tracking.several_graphs
def test_product_equals_the_plain_loops(graph: Graph, signs: bool) -> None:
    sizes = tracking.gradient().model.sizes
    loops = tracking.reference(
        PorterLoops, graph, gamma=0.4, sizes=sizes if signs else None
    )
    algorithm = Porter(consensus=0.4, signs=signs, **tracking.OPTIONS)
    for t, state in enumerate(tracking.play(algorithm, graph), 1):
        loops.round(t, tracking.samples_of(t))
        for key, rows in (("x", loops.x), ("v", loops.v), ("g", loops.g)):
            assert tracking.apart(state[key], rows) < 1e-10
        for key, rows in (("tracker", loops.q), ("model", loops.p)):
            assert tracking.apart(state[key], rows) < 1e-10
            means = [loops.mixed(i, rows) for i in range(tracking.AGENTS)]
            assert tracking.apart(state[f"mean {key}"], means) < 1e-10
    assert t == tracking.ROUNDS


@both
def test_mean_tracker_is_the_mean_of_the_noisy_gradients_whatever_is_left_out(
    signs: bool,
) -> None:
    graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 3)
    for state in tracking.play(Porter(signs=signs, **tracking.OPTIONS), graph):
        assert (state["v"].mean(dim=0) - state["g"].mean(dim=0)).abs().max() < 1e-12
        assert state["g"].norm() > 0.1


@both
def test_heterogeneous_quadratics_are_solved_where_d_psgd_keeps_a_bias(
    signs: bool,
) -> None:
    world = tracking.Quadratics()
    state = world.settle(Porter(lr=0.2, consensus=0.5, signs=signs), 75)
    assert world.distance(state["x"]) < 2e-3
    assert world.d_psgd(0.2, 400) > 0.1


def test_two_rows_of_bits_leave_for_every_neighbour() -> None:
    grad = tracking.only_noise()
    batches = [[tracking.nothing()] * 5] * 2
    tap = tracking.taped(Porter(lr=0.1), batches, grad)
    for round in tap.rounds:
        assert set(round) == {"tracker", "model"}
        for (found,) in round.values():
            assert found.rows.dtype == torch.uint8 and len(found.edges) == 10
            assert found.rows.shape[1] == width(grad.model.sizes) < tracking.WIDE / 4


def test_signs_are_the_same_on_any_placement() -> None:
    graph, grad = graphs.ring(5), tracking.gradient()

    def work(post: Post) -> torch.Tensor:
        net = Net(graph, post)
        algorithm = Porter(**tracking.OPTIONS)
        state = algorithm.init(tracking.starts()[net.agents])
        for t in (1, 2, 3):
            batches = [tracking.batches_of(t)[int(a)] for a in net.agents]
            state, _ = algorithm.round(state, batches, net, grad, t)
        return state["x"]

    whole = on_threads(1, work)[0]
    for processes in (2, 5):
        assert torch.equal(torch.cat(on_threads(processes, work)), whole)


def test_one_record_moves_the_tracker_by_what_is_declared_before_compression() -> None:
    algorithm = Porter(lr=0.1, signs=False)
    declared = {r.channel: r for r in algorithm.releases(tracking.gradient())}
    assert declared["tracker"].private and not declared["model"].private
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0] == {"model": 0, "tracker": 0}
    assert moved[1]["tracker"] == pytest.approx(tracking.C / tracking.B)
    assert moved[1]["model"] == pytest.approx(0.1 * moved[1]["tracker"])
    assert "signs" in Porter().releases(tracking.gradient())[0].carries
