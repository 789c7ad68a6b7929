from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.gradient_tracking import GradientTracking
from dpdl.graph import Graph
from dpdl.net import Net
from tests.algorithms import tracking
from tests.reference.gradient_tracking import GradientTrackingLoops


@tracking.several_graphs
def test_product_equals_gradient_tracking_as_plain_loops(graph: Graph) -> None:
    loops = tracking.reference(GradientTrackingLoops, graph)
    for t, state in enumerate(
        tracking.play(GradientTracking(**tracking.OPTIONS), graph), 1
    ):
        loops.round(t, tracking.samples_of(t))
        assert tracking.apart(state["x"], loops.x) < 1e-10
        assert (
            tracking.apart(
                state["y"], [loops.mixed(i, loops.y) for i in range(tracking.AGENTS)]
            )
            < 1e-10
        )
        assert tracking.apart(state["g"], loops.g) < 1e-10
    assert t == tracking.ROUNDS


@tracking.several_graphs
def test_mean_tracker_is_the_mean_of_the_stored_noisy_gradients(graph: Graph) -> None:
    for state in tracking.play(GradientTracking(**tracking.OPTIONS), graph):
        assert (state["y"].mean(dim=0) - state["g"].mean(dim=0)).abs().max() < 1e-12
        assert state["g"].norm() > 0.1


def test_first_tracker_is_the_first_gradient() -> None:
    sent = tracking.taped(
        GradientTracking(lr=0.1), [[tracking.nothing()] * 5], tracking.only_noise()
    ).rounds[0]
    net, grad = Net(graphs.ring(5)), tracking.only_noise()
    x = torch.zeros(5, tracking.WIDE, dtype=torch.float64)
    g = grad.own(x, [tracking.nothing()] * 5, net.selves, 1).private
    assert torch.equal(sent["tracker"][0].rows, g)


def test_heterogeneous_quadratics_are_solved_exactly_where_d_psgd_keeps_a_bias() -> (
    None
):
    world = tracking.Quadratics()
    state = world.settle(GradientTracking(lr=0.2), 90)
    assert world.distance(state["x"]) < 1e-6
    assert world.d_psgd(0.2, 400) > 0.1


def test_stored_noise_does_not_accumulate_in_the_mean_tracker_but_fresh_noise_does() -> (
    None
):
    one_dose = 1 / 5  # the mean of five agents' noise of variance 1
    found = tracking.noise_of_mean_tracker(GradientTracking(lr=0.1), "y", 40)
    assert all(0.6 * one_dose < variance < 1.5 * one_dose for variance in found)

    # The mutant perturbs the difference of the gradients, which is zero here, anew in every round.
    net, grad = Net(graphs.ring(5)), tracking.only_noise()
    x = torch.zeros(5, tracking.WIDE, dtype=torch.float64)
    W, y = torch.from_numpy(graphs.ring(5).W.copy()), x
    for t in range(1, 41):
        y = W @ y + grad.own(x, [tracking.nothing()] * 5, net.selves, t).private
    assert y.mean(dim=0).var() > 25 * one_dose


def test_noise_of_a_disagreement_among_trackers_is_2_over_1_plus_lambda_doses() -> None:
    graph, rounds = graphs.ring(5), 60
    tap = tracking.taped(
        GradientTracking(lr=0.1),
        [[tracking.nothing()] * 5] * rounds,
        tracking.only_noise(),
    )
    values, vectors = torch.linalg.eigh(torch.from_numpy(graph.W.copy()))
    trackers = [round["tracker"][0].rows for round in tap.rounds[20:]]
    for value, vector in zip(values, vectors.T, strict=True):
        variance = torch.stack([vector @ y for y in trackers]).square().mean()
        assert variance * (1 + value) / 2 == pytest.approx(1, rel=0.1)


def test_one_record_moves_the_tracker_by_at_most_what_is_declared_and_the_model_by_no_more_than_its_step() -> (
    None
):
    algorithm = GradientTracking(lr=0.1)
    declared = {
        release.channel: release for release in algorithm.releases(tracking.gradient())
    }
    assert declared["tracker"].private and not declared["model"].private
    assert declared["tracker"].sensitivity == tracking.C / tracking.B
    assert declared["tracker"].noise_multiplier == tracking.SIGMA
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0] == {"model": 0, "tracker": 0}
    assert moved[1]["tracker"] == pytest.approx(tracking.C / tracking.B)
    assert moved[1]["model"] == pytest.approx(0.1 * moved[1]["tracker"])


def test_two_rows_leave_for_every_neighbour_in_every_round() -> None:
    algorithm = GradientTracking(lr=0.1)
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
