from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.netfleet import NetFleet
from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.types import Batch, ClippedSum
from tests.algorithms import tracking
from tests.conftest import small_batch
from tests.mechanisms import private_gradient
from tests.models import Given
from tests.reference.netfleet import NetFleetLoops


@pytest.mark.parametrize("tau", [1, 2, 3])
@tracking.several_graphs
def test_product_equals_net_fleet_as_plain_loops(graph: Graph, tau: int) -> None:
    """The loops take the gradient at the end of a step, as the paper does; the product at the start of the next."""
    loops = tracking.reference(NetFleetLoops, graph, tau=tau)
    loops.begin(tracking.samples_of(1))
    for t, state in enumerate(
        tracking.play(NetFleet(local_steps=tau, **tracking.OPTIONS), graph), 1
    ):
        assert tracking.apart(state["g"], loops.g) < 1e-10
        y = (
            [loops.mixed(i, loops.y) for i in range(tracking.AGENTS)]
            if t % tau == 0
            else loops.y
        )
        assert tracking.apart(state["y"], y) < 1e-10
        loops.round(t, tracking.samples_of(t + 1))
        assert tracking.apart(state["x"], loops.x) < 1e-10
    assert t == tracking.ROUNDS


@pytest.mark.parametrize("tau", [1, 2])
@tracking.several_graphs
def test_mean_tracker_is_the_mean_of_the_stored_noisy_gradients(
    graph: Graph, tau: int
) -> None:
    for state in tracking.play(NetFleet(local_steps=tau, **tracking.OPTIONS), graph):
        assert (state["y"].mean(dim=0) - state["g"].mean(dim=0)).abs().max() < 1e-12
        assert state["g"].norm() > 0.1


@pytest.mark.parametrize(("tau", "lr", "rounds"), [(1, 0.2, 100), (4, 0.07, 280)])
def test_heterogeneous_quadratics_are_solved_exactly_where_d_psgd_keeps_a_bias(
    tau: int, lr: float, rounds: int
) -> None:
    world = tracking.Quadratics()
    state = world.settle(NetFleet(lr=lr, local_steps=tau), rounds)
    assert world.distance(state["x"]) < 1e-6
    assert world.d_psgd(lr, 400) > 0.05


@pytest.mark.parametrize("name", ["bipartite", "ring", "complete"])
def test_the_smallest_eigenvalue_limits_the_step(name: str) -> None:
    """With curvature h the agents settle only if lr h < (1 + lambda_min)^2 / 2."""
    graph = graphs.build(name, 6, "metropolis", 0)
    values, vectors = np.linalg.eigh(graph.W)
    most = (1 + values[0]) ** 2 / 2
    start = torch.from_numpy(np.repeat(vectors[:, :1], 3, axis=1))

    def curved(row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        return ClippedSum(row.clone(), 0.0, 0, 0)  # that of |x|^2 / 2: curvature 1

    grad = private_gradient(
        Given((3,), curved), PerSample(1.0), 0.0, 1, Reproducible(0)
    )
    batches = [small_batch(1, 0)] * 6

    def end(lr: float) -> float:
        algorithm, net = NetFleet(lr=lr, local_steps=1), Net(graph)
        state = algorithm.init(start)
        for t in range(1, 601):
            state, _ = algorithm.round(state, batches, net, grad, t)
        return float(state["x"].norm())

    assert end(0.97 * most) < 0.1 < 10 < end(1.03 * most)


def test_nothing_is_sent_between_two_exchanges() -> None:
    algorithm = NetFleet(lr=0.1, local_steps=3)
    tap = tracking.taped(
        algorithm, [[tracking.nothing()] * 5] * 7, tracking.only_noise()
    )
    declared = {
        release.channel for release in algorithm.releases(tracking.only_noise())
    }
    assert [t for t, round in enumerate(tap.rounds, 1) if round] == [3, 6]
    for round in (tap.rounds[2], tap.rounds[5]):
        assert set(round) == declared == {"model", "tracker"}
        assert all(
            len(found) == 1 and len(found[0].edges) == 10 for found in round.values()
        )


@pytest.mark.parametrize("tau", [1, 4])
def test_stored_noise_does_not_accumulate_in_the_mean_tracker_but_fresh_noise_does(
    tau: int,
) -> None:
    one_dose = 1 / 5
    found = tracking.noise_of_mean_tracker(NetFleet(lr=0.1, local_steps=tau), "y", 40)
    assert all(0.6 * one_dose < variance < 1.5 * one_dose for variance in found)

    # The mutant perturbs the difference of the gradients, which is zero here, anew in every round.
    net, grad = Net(graphs.ring(5)), tracking.only_noise()
    x = torch.zeros(5, tracking.WIDE, dtype=torch.float64)
    W, y = torch.from_numpy(graphs.ring(5).W.copy()), x
    for t in range(1, 41):
        y = y + grad.own(x, [tracking.nothing()] * 5, net.selves, t).private
        y = y if t % tau else W @ y
    assert y.mean(dim=0).var() > 25 * one_dose


def test_one_record_of_a_local_step_moves_what_leaves_by_at_most_what_is_declared() -> (
    None
):
    algorithm = NetFleet(lr=0.1, local_steps=3)
    declared = {
        release.channel: release for release in algorithm.releases(tracking.gradient())
    }
    bound = tracking.C / tracking.B
    assert declared["tracker"].private and declared["model"].private
    assert declared["tracker"].sensitivity == bound
    assert declared["model"].sensitivity == pytest.approx(0.1 * bound)
    assert {release.noise_multiplier for release in declared.values()} == {
        tracking.SIGMA
    }
    # A local step between two exchanges is in the model, and no longer in the tracker.
    between = tracking.movement(algorithm, 6, where=4)
    assert between[2] == {"model": 0, "tracker": 0}
    assert between[5]["model"] == pytest.approx(0.1 * bound)
    assert between[5]["tracker"] < 1e-12
    # The step of an exchange is in the tracker, and in the model that is sent next time.
    exchange = tracking.movement(algorithm, 6, where=3)
    assert exchange[2]["tracker"] == pytest.approx(bound)
    assert exchange[2]["model"] == 0


def test_with_an_exchange_in_every_round_only_the_tracker_carries_the_new_gradient() -> (
    None
):
    algorithm = NetFleet(lr=0.1, local_steps=1)
    declared = {
        release.channel: release for release in algorithm.releases(tracking.gradient())
    }
    assert declared["tracker"].private and not declared["model"].private
    moved = tracking.movement(algorithm, 2, where=2)
    assert moved[1]["tracker"] == pytest.approx(tracking.C / tracking.B)
    assert moved[1]["model"] == 0


def test_without_clipping_no_sensitivity_is_declared() -> None:
    grad = private_gradient(
        tracking.gradient().model, Unclipped(), 0.0, 4, Reproducible(0)
    )
    assert {
        release.sensitivity
        for release in NetFleet(lr=0.1, local_steps=3).releases(grad)
    } == {None}
