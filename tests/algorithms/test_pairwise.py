from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.muffliato import gossip
from dpdl.algorithms.pairwise import exposure, exposures, polynomials, published_sum
from dpdl.errors import InputError
from dpdl.net import Leaving, Net
from tests.reference.pairwise import advantage, view

GRAPHS = [
    graphs.ring(7),
    graphs.build("erdos-renyi:0.35", 8, "sinkhorn", 3),
    graphs.hypercube(8),
    graphs.star(6),
    graphs.complete(4),
    graphs.path(6),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_exposure_is_the_advantage_of_the_best_test_on_the_joint_gaussian_view(
    graph, steps: int
) -> None:
    found = exposures(graph, steps)
    for v in range(len(graph)):
        forms = view(graph.W, steps, v)
        expected = [advantage(forms, u) for u in range(len(graph))]
        assert found[:, v] == pytest.approx(expected, abs=1e-8)


def test_exposures_of_the_cube_by_hand() -> None:
    """W is 1/5 on and beside the diagonal of the cube with 16 corners.

    In step 1 neighbour w of agent 0 sends the sum of its own, agent 0's and three corners at distance 2. The first two
    are known. So agent 0 has four independent sums, each of three of the six corners at distance 2. What they span has,
    by symmetry, the same share 4 / 6 of every corner.
    """
    found = exposures(graphs.hypercube(16), 2)[:, 0]
    far = [bin(u).count("1") for u in range(16)]
    assert found == pytest.approx(
        [{0: 1, 1: 1, 2: 2 / 3}.get(d, 0) for d in far], abs=1e-12
    )


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("N", [9, 10])
def test_on_a_ring_everyone_within_reach_is_exposed_fully_and_nobody_else(
    N: int, steps: int
) -> None:
    """Each step gives the next agent away: its neighbours' shares in the message are known and subtracted."""
    distance = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    distance = np.minimum(distance, N - distance)
    assert exposures(graphs.ring(N), steps) == pytest.approx(
        (distance <= steps).astype(float), abs=1e-10
    )


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_the_published_sum_underestimates_on_a_ring(steps: int) -> None:
    """The agent at distance K is known fully. It is in one message only, and not alone."""
    ring = graphs.ring(12)
    assert exposures(ring, steps)[steps, 0] == pytest.approx(1)
    assert published_sum(ring, steps)[steps, 0] < 0.4


def test_the_published_sum_is_the_sum_over_messages() -> None:
    graph = graphs.build("erdos-renyi:0.35", 8, "sinkhorn", 3)
    found = published_sum(graph, 4)
    for u, v in ((0, 1), (3, 0), (5, 7), (2, 6)):
        total = 0.0
        for form in view(graph.W, 4, v)[1:]:
            total += form[u] ** 2 / sum(entry**2 for entry in form)
        assert found[u, v] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_all_others_together_have_the_local_level(graph) -> None:
    for u in range(len(graph)):
        assert exposure(graph, 1, [v for v in range(len(graph)) if v != u])[
            u
        ] == pytest.approx(1)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_exposure_grows_with_steps_and_with_listeners_and_stays_in_bounds(
    graph,
) -> None:
    few, more = exposures(graph, 2), exposures(graph, 3)
    assert (few <= more + 1e-10).all()
    assert (
        exposure(graph, 2, [0, 1]) >= np.maximum(few[:, 0], few[:, 1]) - 1e-10
    ).all()
    assert ((few >= 0) & (few <= 1)).all()
    assert few[graph.W > 0] == pytest.approx(1)  # a neighbour hears y^0 itself


def test_exposure_does_not_depend_on_the_acceleration() -> None:
    """P_t has degree t, so that plain powers of W tell the same."""
    graph = graphs.build("erdos-renyi:0.35", 8, "sinkhorn", 3)
    powers = [np.linalg.matrix_power(graph.W, t) for t in range(3)]
    around = [int(w) for w in graph.neighbours(2) if w != 2]
    forms = np.vstack([np.eye(8)[[2]], *(P[around] for P in powers)])
    assert exposures(graph, 3)[:, 2] == pytest.approx(
        [advantage(forms, u) for u in range(8)], abs=1e-8
    )


def test_the_polynomials_are_what_the_agents_send() -> None:
    graph = graphs.build("erdos-renyi:0.35", 8, "sinkhorn", 3)
    seen: list[Leaving] = []
    gossip(torch.eye(8, dtype=torch.float64), Net(graph, observers=[seen.append]), 5)
    assert len(seen) == 5
    for leaving, P in zip(seen, polynomials(graph, 5), strict=True):
        assert np.abs(leaving.rows.numpy() - P).max() < 1e-14


def test_single_calls_do_not_add_up_to_a_bound_for_two() -> None:
    """Two calls of K = 2 on a ring, each with fresh noise; the second starts where the first ended.

    Either call by itself tells agent 0 nothing about a record of agent 3 that is used in it. Yet after both, agent 0
    knows something about the record that agent 3 used in the first.
    """
    ring, K = graphs.ring(9), 2
    W, P = ring.W, polynomials(ring, K + 1)
    first, second = view(W, K, 0), view(W, K, 0)
    both = np.block([[first, np.zeros_like(second)], [second @ P[K], second]])
    assert exposures(ring, K)[3, 0] == pytest.approx(0, abs=1e-12)
    assert advantage(both, 3) > 0.01


def test_one_agent_is_alone() -> None:
    assert exposures(graphs.build("complete", 1), 3).tolist() == [[1.0]]


@pytest.mark.parametrize("of", [exposures, published_sum])
def test_no_steps_are_refused(of) -> None:
    with pytest.raises(InputError, match="at least one step"):
        of(graphs.ring(4), 0)
