from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms.covariance import (
    MOST,
    STEP,
    covariance,
    inverse,
    left_over,
    product,
    shares,
)
from dpdl.graph import Graph
from tests.reference.corn import least, noise_of_pairs

GRAPHS = {
    "ring": graphs.ring(6),
    "bipartite": graphs.bipartite(6),
    "path": graphs.path(5),
    "star": graphs.star(5),
    "random": graphs.build("erdos-renyi:0.4", 8, "sinkhorn", 1),
}
several = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def left(c: np.ndarray, S: np.ndarray) -> float:
    """What is left of noise that is scaled until the worst agent is hidden by 1."""
    R = noise_of_pairs(c)
    return float(np.trace(S @ R) * np.linalg.inv(R).diagonal().max())


@several
def test_factors_are_symmetric_steps_and_make_the_covariance_of_the_pairs(
    graph: Graph,
) -> None:
    c = shares(graph, 3)
    assert np.array_equal(c, c.T) and not c.diagonal().any()
    assert np.array_equal(c / STEP, np.rint(c / STEP)) and 0 < c.max() <= MOST
    assert np.allclose(covariance(c), noise_of_pairs(c), rtol=1e-14)


@pytest.mark.parametrize("horizon", [1, 4])
def test_what_is_left_is_the_sum_of_the_noise_after_1_to_k_rounds_of_mixing(
    horizon: int,
) -> None:
    W = GRAPHS["random"].W
    S = sum(np.linalg.matrix_power(W, 2 * k) for k in range(1, horizon + 1))
    assert np.allclose(left_over(W, horizon), S, rtol=1e-13)


@several
@pytest.mark.parametrize("horizon", [1, 8])
def test_less_is_left_than_by_independent_noise_or_by_one_factor_for_all_links(
    graph: Graph, horizon: int
) -> None:
    """It cannot be less than the least over all covariances, and is not much more."""
    S, links = (
        left_over(graph.W, horizon),
        (graph.W > 0) & ~np.eye(len(graph), dtype=bool),
    )
    found = left(shares(graph, horizon), S)
    one_for_all = min(left(c * links, S) for c in np.arange(0.25, 6, 0.25))
    assert found < 0.99 * np.trace(S)
    assert found < one_for_all * 1.005  # the factors are rounded
    assert least(S) <= found < 1.3 * least(S)


@several
def test_no_single_pair_could_share_more_or_less_to_advantage(graph: Graph) -> None:
    S, c = left_over(graph.W, 2), shares(graph, 2)
    best = left(c, S)
    for i, j in itertools.combinations(range(len(graph)), 2):
        for step in (4 * STEP, -4 * STEP):
            other = c.copy()
            other[i, j] = other[j, i] = max(0.0, c[i, j] + step)
            assert left(other, S) > 0.995 * best


def test_where_one_mixing_gives_the_mean_pairs_share_all_they_may() -> None:
    c = shares(graphs.complete(5), 1)
    assert np.array_equal(c, MOST * (1 - np.eye(5)))
    assert left(c, left_over(graphs.complete(5).W, 1)) == pytest.approx(1 / 5, rel=0.02)


def test_an_agent_alone_shares_nothing() -> None:
    assert shares(graphs.complete(1), 1).tolist() == [[0.0]]


def test_a_product_and_an_inverse_are_those_of_the_library_up_to_rounding() -> None:
    draw = np.random.default_rng(3)
    A, B = draw.standard_normal((2, 7, 7))
    assert np.allclose(product(A, B), A @ B, rtol=1e-12)
    R = A @ A.T + np.eye(7)
    assert np.allclose(inverse(R), np.linalg.inv(R), rtol=1e-9)


def test_every_sum_runs_from_left_to_right_so_that_all_machines_round_alike() -> None:
    big = np.array([[1e16, 1.0, -1e16, 1.0]])
    ones = np.ones((4, 1))
    assert product(big, ones).item() == ((1e16 + 1.0) - 1e16) + 1.0


def test_relabelled_agents_have_the_factors_of_those_they_were() -> None:
    graph, order = GRAPHS["random"], np.array([3, 0, 4, 1, 2, 7, 5, 6])
    moved = shares(Graph(graph.W[order][:, order]), 1)
    assert np.abs(moved - shares(graph, 1)[order][:, order]).max() <= STEP
