"""After m steps everybody has the mean, on every graph, and rounding moves it by less than `gain` says."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.graph import Graph
from dpdl.graph.consensus import ALIKE, Consensus, consensus, distinct
from dpdl.graph.matrix import pair

FEW = {
    ("complete", 30): 1,
    ("bipartite", 20): 2,
    ("star", 12): 2,
    ("ring", 10): 5,
    ("ring", 20): 10,
    ("ring", 30): 15,
    ("ring", 7): 3,
    ("hypercube", 16): 4,
    ("path", 8): 7,
}
OTHERS = ["erdos-renyi:0.4", "exponential", "torus", "bipartite-hub"]


def steps(graph: Graph, most: int = 200) -> Consensus:
    found = consensus(graph, most)
    assert found is not None
    return found


def agreed(graph: Graph, rows: np.ndarray) -> np.ndarray:
    """The recursion as it is written, in the type of the rows."""
    W = graph.W.astype(rows.dtype)
    for root in steps(graph).roots:
        rows = (W @ rows - rows.dtype.type(root) * rows) / rows.dtype.type(1 - root)
    return rows


def moved(graph: Graph, dtype: type) -> float:
    """How far from the mean the agents are, over the length of what they agree on."""
    rows = np.random.default_rng(0).standard_normal((len(graph), 300)).astype(dtype)
    error = agreed(graph, rows) - rows.astype(float).mean(0)
    return float((np.linalg.norm(error, axis=0) / np.linalg.norm(rows, axis=0)).max())


@pytest.mark.parametrize(("name", "agents"), FEW)
def test_as_many_steps_as_w_has_other_eigenvalues(name: str, agents: int) -> None:
    graph = graphs.build(name, agents)
    assert len(distinct(graph)) == len(steps(graph).roots) == FEW[name, agents]


@pytest.mark.parametrize(
    ("name", "agents"),
    [*FEW, *((name, 12) for name in OTHERS), ("ring", 60), ("path", 60), ("star", 60)],
)
@pytest.mark.parametrize("weights", ["metropolis", "sinkhorn"])
def test_everybody_has_the_mean_and_rounding_moves_it_by_less_than_is_said(
    name: str, agents: int, weights: str
) -> None:
    graph = graphs.build(name, agents, weights, 3)
    assert moved(graph, np.float32) < steps(graph).gain * 2.0**-24
    assert moved(graph, np.float64) < 2 * ALIKE


def test_small_eigenvalues_need_no_step_of_their_own() -> None:
    graph = graphs.build("erdos-renyi:0.5", 60)
    assert len(distinct(graph)) == 59 and len(steps(graph).roots) < 20


def test_a_part_that_rounding_brings_back_is_removed_again() -> None:
    """Once for every eigenvalue, in any order, is not enough here."""
    graph = graphs.build("star", 12, "sinkhorn", 3)
    roots = steps(graph).roots
    assert len(roots) > len(set(roots)) == 11


def test_too_few_steps_are_none() -> None:
    assert consensus(graphs.ring(10), 4) is None
    assert len(steps(graphs.ring(10), 5).roots) == 5


def test_one_agent_agrees_with_itself() -> None:
    assert consensus(graphs.complete(1), 1) == ((), 0.0)


def test_eigenvalues_that_are_alike_are_one_step() -> None:
    W = graphs.ring(6).W.copy()
    W[[0, 1], [1, 0]] += 1e-12
    W[[0, 1], [0, 1]] -= 1e-12
    assert len(distinct(Graph(W))) == 3
    assert list(distinct(graphs.ring(6))) == pytest.approx([2 / 3, 0, -1 / 3])


def test_no_finite_number_of_steps_agrees_where_a_graph_is_in_parts() -> None:
    assert distinct(pair(3, 0, 1))[0] == 1.0
