"""What a `Graph` says about itself, and what it refuses."""

from __future__ import annotations

from math import cos, pi

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.graph import Graph, build


@pytest.mark.parametrize("N", [3, 4, 10, 31])
def test_eigenvalues_of_the_ring(N):
    expected = sorted(
        (1 / 3 + 2 / 3 * cos(2 * pi * k / N) for k in range(N)), reverse=True
    )
    assert build("ring", N).eigenvalues == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "N", "gap"),
    [
        ("complete", 10, 1.0),
        ("hypercube", 8, 2 / 4),
        ("hypercube", 64, 2 / 7),
        ("star", 10, 1 / 10),
        ("bipartite", 10, 1 - 4 / 6),
        ("torus:4x6", 24, 1 - (3 + 2 * cos(2 * pi / 6)) / 5),
        ("path", 10, 1 - (1 + 2 * cos(pi / 10)) / 3),
        ("ring", 2, 1.0),
    ],
)
def test_spectral_gap_in_closed_form(spec, N, gap):
    graph = build(spec, N)
    assert graph.spectral_gap == pytest.approx(gap, abs=1e-12)
    assert graph.rho == pytest.approx((1 - gap) ** 2, abs=1e-12)


def test_a_negative_eigenvalue_counts_by_its_size():
    graph = Graph(np.array([[0.1, 0.9], [0.9, 0.1]]))
    assert graph.eigenvalues == pytest.approx([1, -0.8])
    assert graph.lambda2 == pytest.approx(0.8)
    assert (graph.w_min, graph.w_max) == (0.1, 0.9)


def test_one_mixing_shrinks_disagreement_by_lambda2():
    graph = build("erdos-renyi", 15, "sinkhorn", seed=3)
    x = np.random.default_rng(0).normal(size=(15, 4))
    x -= x.mean(axis=0)
    assert np.linalg.norm(graph.W @ x) <= graph.lambda2 * np.linalg.norm(x)


def test_edges_are_sorted_by_receiver_then_owner_with_self_loops():
    graph = build("star", 4)
    assert graph.edges.dtype == np.int64
    assert graph.edges.tolist() == [
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 0],
        [0, 1],
        [1, 1],
        [0, 2],
        [2, 2],
        [0, 3],
        [3, 3],
    ]
    assert graph.neighbours(2).tolist() == [0, 2]
    assert graph.sizes.tolist() == [4, 2, 2, 2]
    assert graph.degrees.tolist() == [3, 1, 1, 1]
    assert len(graph) == graph.N == 4


@pytest.mark.parametrize("agent", [-1, 4])
def test_there_are_no_neighbours_of_an_agent_that_does_not_exist(agent):
    with pytest.raises(InputError, match="numbered 0 to 3"):
        build("star", 4).neighbours(agent)


def test_the_matrix_is_a_copy_nobody_can_change():
    W = np.full((3, 3), 1 / 3)
    graph = Graph(W)
    W[0, 0] = 7
    assert graph.W[0, 0] == 1 / 3
    for array in (graph.W, graph.edges, graph.eigenvalues, graph.sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_rounding_within_the_tolerance_is_made_symmetric():
    W = np.full((2, 2), 0.5)
    W[0, 1] += 1e-12
    assert np.array_equal(Graph(W).W, Graph(W).W.T)


def with_entries(W: np.ndarray, **entries: float) -> np.ndarray:
    W = W.copy()
    for place, value in entries.items():
        i, j = place[1:].split("_")
        W[int(i), int(j)] = value
    return W


RING = build("ring", 8).W
TWO_PARTS = np.kron(np.eye(2), np.full((3, 3), 1 / 3))


@pytest.mark.parametrize(
    ("W", "said"),
    [
        (
            with_entries(RING, w2_5=0.3, w5_2=0.2),
            "W is not symmetric: w[2,5] = 0.3 but w[5,2] = 0.2.",
        ),
        (with_entries(RING, w4_4=0.25), "Row 4 of W sums to 0.916666666667, not 1."),
        (
            with_entries(RING, w1_6=-0.1, w6_1=-0.1),
            "W must not be negative, but w[1,6] = -0.1.",
        ),
        (
            with_entries(RING, w3_3=np.nan),
            "W must hold finite numbers, but w[3,3] = nan.",
        ),
        (
            np.array([[0.0, 1.0], [1.0, 0.0]]),
            "Agent 0 must keep a positive weight for itself",
        ),
        (TWO_PARTS, "not connected: agents 3, 4, 5 cannot be reached from agent 0."),
        (np.eye(2), "not connected: agent 1 cannot be reached from agent 0."),
        (np.eye(50), "agents 1, 2, 3, 4, 5 and 44 more cannot"),
        (np.ones((2, 3)) / 3, "its shape is (2, 3)"),
        (np.zeros((0, 0)), "its shape is (0, 0)"),
        ([[1, 2], [3]], "square matrix of real numbers"),
        ("ring", "square matrix of real numbers"),
        (np.eye(1) * (1 + 1j), "square matrix of real numbers"),
    ],
)
def test_a_bad_matrix_is_refused_by_row_or_edge(W, said):
    with pytest.raises(InputError) as error:
        Graph(W)
    assert said in str(error.value)


def test_a_ring_of_a_thousand_agents_is_quick():
    graph = build("ring", 1000)
    assert len(graph.edges) == 3000
    assert graph.spectral_gap == pytest.approx(
        2 / 3 * (1 - cos(2 * pi / 1000)), rel=1e-6
    )
