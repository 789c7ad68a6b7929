"""Who talks to whom in the named graphs."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.graph import patterns
from dpdl.graph.check import Pattern


def pairs(pattern: Pattern) -> set[tuple[int, int]]:
    """Undirected edges."""
    return {(i, j) for i, j in np.argwhere(pattern).tolist() if i < j}


SMALL = {
    "ring of 4": (patterns.ring(4), {(0, 1), (1, 2), (2, 3), (0, 3)}),
    "ring of 2": (patterns.ring(2), {(0, 1)}),
    "path": (patterns.path(4), {(0, 1), (1, 2), (2, 3)}),
    "complete": (patterns.complete(3), {(0, 1), (0, 2), (1, 2)}),
    "complete of 1": (patterns.complete(1), set()),
    "star": (patterns.star(4), {(0, 1), (0, 2), (0, 3)}),
    "bipartite": (patterns.bipartite(4), {(0, 1), (0, 3), (1, 2), (2, 3)}),
    "hub": (patterns.bipartite_hub(4), {(0, 2), (0, 3), (1, 2), (1, 3)}),
    "hypercube": (patterns.hypercube(4), {(0, 1), (0, 2), (1, 3), (2, 3)}),
    "exponential": (
        patterns.exponential(5),
        {(i, j) for i in range(5) for j in range(i + 1, 5)},
    ),
    "torus": (patterns.torus(2, 2), {(0, 1), (0, 2), (1, 3), (2, 3)}),
}


@pytest.mark.parametrize(("pattern", "edges"), SMALL.values(), ids=SMALL)
def test_small_graphs_have_these_edges(pattern: Pattern, edges: set) -> None:
    assert pairs(pattern) == edges


@pytest.mark.parametrize("pattern", [one for one, _ in SMALL.values()], ids=SMALL)
def test_a_pattern_is_symmetric_and_has_no_self_loops(pattern: Pattern) -> None:
    assert pattern.dtype == np.bool_
    assert (pattern == pattern.T).all()
    assert not pattern.diagonal().any()


def test_offsets_of_a_circulant_count_both_ways_and_never_to_oneself() -> None:
    assert pairs(patterns.circulant(6, [2])) == {
        *((0, 2), (2, 4), (0, 4)),
        *((1, 3), (3, 5), (1, 5)),
    }
    assert not patterns.circulant(3, [3, 0]).any()


@pytest.mark.parametrize(
    ("N", "sides"), [(4, (2, 2)), (12, (3, 4)), (36, (6, 6)), (10, (2, 5))]
)
def test_a_torus_is_as_square_as_it_can_be(N: int, sides: tuple[int, int]) -> None:
    assert patterns.torus_sides(N) == sides


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: patterns.bipartite(5), "use 4 or 6 agents, or 'bipartite-hub'"),
        (lambda: patterns.hypercube(6), "use 4 or 8 agents"),
        (lambda: patterns.torus_sides(7), "agents = 7 is prime: use 6 or 8 agents"),
        (lambda: patterns.erdos_renyi(50, 1e-6, 0), "not connected in 200 draws"),
    ],
)
def test_a_number_that_does_not_fit_gets_advice(build, words: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert words in str(caught.value)


def test_a_random_graph_depends_on_its_seed_alone() -> None:
    first = patterns.erdos_renyi(20, 0.3, 1)
    assert (first == patterns.erdos_renyi(20, 0.3, 1)).all()
    assert (first != patterns.erdos_renyi(20, 0.3, 2)).any()
    assert (first == first.T).all() and not first.diagonal().any()
    assert (patterns.erdos_renyi(6, 1.0, 0) == patterns.complete(6)).all()
