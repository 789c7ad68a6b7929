from __future__ import annotations

import pytest
import torch

from dpdl.algorithms.momentum_tracking import MomentumTracking
from dpdl.algorithms.netfleet import NetFleet
from dpdl.graph import Graph
from tests.algorithms import tracking
from tests.reference.momentum_tracking import MomentumTrackingLoops


@tracking.several_graphs
def test_product_equals_momentum_tracking_as_plain_loops(graph: Graph) -> None:
    loops = tracking.reference(MomentumTrackingLoops, graph, beta=0.7)
    for t, state in enumerate(
        tracking.play(MomentumTracking(momentum=0.7, **tracking.OPTIONS), graph), 1
    ):
        loops.round(t, tracking.samples_of(t))
        assert tracking.apart(state["x"], loops.x) < 1e-10
        assert tracking.apart(state["u"], loops.u) < 1e-10
        assert tracking.apart(state["c"], loops.c) < 1e-10
    assert t == tracking.ROUNDS


@tracking.several_graphs
def test_corrections_sum_to_zero_so_the_mean_tracker_is_the_mean_momentum(
    graph: Graph,
) -> None:
    for state in tracking.play(
        MomentumTracking(momentum=0.7, **tracking.OPTIONS), graph
    ):
        assert state["c"].mean(dim=0).abs().max() < 1e-12
        assert state["c"].norm() > 0.1


@tracking.several_graphs
def test_without_momentum_it_is_gradient_tracking_in_the_order_combine_then_adapt(
    graph: Graph,
) -> None:
    plain = tracking.play(NetFleet(local_steps=1, **tracking.OPTIONS), graph)
    for state, other in zip(
        tracking.play(MomentumTracking(momentum=0.0, **tracking.OPTIONS), graph),
        plain,
        strict=True,
    ):
        assert (state["x"] - other["x"]).abs().max() < 1e-12
        assert (state["u"] - other["g"]).abs().max() < 1e-12


def test_heterogeneous_quadratics_are_solved_exactly_where_d_psgd_keeps_a_bias() -> (
    None
):
    world = tracking.Quadratics()
    state = world.settle(MomentumTracking(lr=0.05, momentum=0.7), 100)
    assert world.distance(state["x"]) < 1e-6
    assert world.d_psgd(0.05, 400) > 0.05


def test_noise_of_the_mean_momentum_stays_that_of_a_momentum() -> None:
    found = tracking.noise_of_mean_tracker(
        MomentumTracking(lr=0.1, momentum=0.5), "u", 40
    )
    at_rest = (
        1 / 5 / (1 - 0.5**2)
    )  # the mean of five doses of variance 1, summed with weights beta^k
    assert all(0.6 * at_rest < variance < 1.5 * at_rest for variance in found[5:])


def test_one_record_moves_the_tracker_by_at_most_what_is_declared() -> None:
    algorithm = MomentumTracking(lr=0.1, momentum=0.7)
    declared = {
        release.channel: release for release in algorithm.releases(tracking.gradient())
    }
    assert declared["tracker"].private and not declared["model"].private
    assert declared["tracker"].sensitivity == tracking.C / tracking.B
    assert declared["tracker"].noise_multiplier == tracking.SIGMA
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0] == {"model": 0, "tracker": 0}
    assert moved[1]["tracker"] == pytest.approx(tracking.C / tracking.B)
    assert (
        moved[1]["model"] == 0
    )  # what the record did to the tracker is in the next model only
    assert moved[2]["model"] == pytest.approx(0.1 * tracking.C / tracking.B)


def test_two_rows_leave_for_every_neighbour_in_every_round() -> None:
    algorithm = MomentumTracking(lr=0.1, momentum=0.7)
    tap = tracking.taped(
        algorithm, [[tracking.nothing()] * 5] * 3, tracking.only_noise()
    )
    declared = {
        release.channel for release in algorithm.releases(tracking.only_noise())
    }
    for round in tap.rounds:
        assert set(round) == declared == {"model", "tracker"}
        assert all(
            len(found) == 1 and len(found[0].edges) == 10 for found in round.values()
        )


def test_momentum_speeds_up_the_way_to_the_optimum() -> None:
    world = tracking.Quadratics()
    slow, fast = (
        world.settle(MomentumTracking(lr=0.05, momentum=beta), 40)["x"]
        for beta in (0.0, 0.7)
    )
    assert world.distance(fast) < 0.5 * world.distance(slow)
    assert torch.isfinite(fast).all()
