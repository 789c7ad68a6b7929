"""Every named graph, with every rule for its weights, is what its definition says."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl import graph as graphs
from dpdl.errors import InputError
from dpdl.graph import Graph, build

RULES = ("metropolis", "uniform", "sinkhorn")
NAMES = graphs.GRAPHS


def allowed(name: str, size: int) -> int:
    """The number of agents nearest to `size` that the graph accepts."""
    if name == "bipartite":
        return size + size % 2
    if name == "hypercube":
        return 1 << (size.bit_length() - 1)
    if name == "bipartite-hub":
        return max(size, 3)
    if name == "torus":
        return 2 * max(size // 2, 2)
    return size


def pattern(graph: Graph) -> np.ndarray:
    return (graph.W > 0) & ~np.eye(graph.N, dtype=bool)


def oracle(name: str, N: int) -> networkx.Graph:
    """The same graphs as networkx draws them, agents relabelled to our numbering."""
    if name == "path" or N == 2:
        return networkx.path_graph(N)
    if name == "ring":
        return networkx.cycle_graph(N)
    if name == "complete":
        return networkx.complete_graph(N)
    if name == "star":
        return networkx.star_graph(N - 1)
    if name == "bipartite-hub":
        return networkx.complete_bipartite_graph(2, N - 2)
    if name == "bipartite":
        halves = [*range(0, N, 2), *range(1, N, 2)]
        return networkx.relabel_nodes(
            networkx.complete_bipartite_graph(N // 2, N // 2), dict(enumerate(halves))
        )
    if name == "hypercube":
        cube = networkx.hypercube_graph(N.bit_length() - 1)
        return networkx.relabel_nodes(
            cube, {bits: int("".join(map(str, bits)), 2) for bits in cube}
        )
    assert name == "exponential"
    shifts = {2**k for k in range(20) if 2**k < N}
    return networkx.circulant_graph(N, sorted(shifts))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    rule=st.sampled_from(RULES),
    size=st.integers(2, 40),
    seed=st.integers(0, 2**40),
)
def test_weights_are_symmetric_doubly_stochastic_and_connected(name, rule, size, seed):
    graph = build(name, allowed(name, size), rule, seed)
    assert np.array_equal(graph.W, graph.W.T)
    assert np.abs(graph.W.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(graph.W.sum(axis=0) - 1).max() < 1e-12
    assert (np.diagonal(graph.W) > 0).all()
    assert (graph.W >= 0).all()
    assert networkx.is_connected(networkx.from_numpy_array(graph.W))
    assert graph.lambda2 < 1


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("torus", "erdos-renyi")]
)
def test_pattern_is_the_one_networkx_draws(name):
    for N in {allowed(name, size) for size in range(2, 41)}:
        expected = networkx.to_numpy_array(oracle(name, N), nodelist=range(N)) > 0
        for rule in RULES:
            assert np.array_equal(pattern(build(name, N, rule)), expected)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rows=st.integers(2, 7), columns=st.integers(2, 7))
def test_torus_is_a_grid_with_joined_borders(rows, columns):
    graph = build(f"torus:{rows}x{columns}", rows * columns)
    for agent in range(graph.N):
        r, c = divmod(agent, columns)
        around = {
            ((r + 1) % rows, c),
            ((r - 1) % rows, c),
            (r, (c + 1) % columns),
            (r, (c - 1) % columns),
        }
        assert set(graph.neighbours(agent)) == {agent} | {
            a * columns + b for a, b in around
        }


def test_torus_alone_takes_the_most_square_sides():
    assert build("torus", 24).name == "torus:4x6"
    assert graphs.torus(24, sides=(3, 8)).name == "torus:3x8"


@pytest.mark.parametrize("name", NAMES)
def test_the_function_and_the_word_give_the_same_graph(name):
    function = getattr(graphs, name.replace("-", "_"))
    N = allowed(name, 12)
    for rule in RULES:
        assert np.array_equal(function(N, rule, 5).W, build(name, N, rule, 5).W)


def test_metropolis_follows_its_formula():
    graph = build("bipartite-hub", 7)
    d = graph.degrees
    for i, j in graph.edges:
        if i != j:
            assert graph.W[i, j] == 1 / (1 + max(d[i], d[j]))


def test_uniform_gives_every_edge_the_same_weight():
    graph = build("star", 6, "uniform")
    assert set(graph.W[pattern(graph)]) == {1 / 6}
    assert graph.W[1, 1] == pytest.approx(5 / 6)


@pytest.mark.parametrize("rule", ["metropolis", "uniform"])
@pytest.mark.parametrize(
    ("name", "N", "w"), [("ring", 7, 3), ("complete", 49, 49), ("bipartite", 10, 6)]
)
def test_regular_graphs_have_exactly_equal_weights(rule, name, N, w):
    graph = build(name, N, rule)
    assert set(graph.W[graph.W > 0].tolist()) == {1 / w}


def test_sinkhorn_depends_on_the_seed_alone():
    one, again, other = (build("torus", 12, "sinkhorn", seed).W for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert len(np.unique(one)) > 20


@pytest.mark.parametrize("name", ["star", "bipartite", "bipartite-hub", "path"])
def test_sinkhorn_converges_on_large_awkward_graphs(name):
    graph = build(name, 200, "sinkhorn")
    assert np.abs(graph.W.sum(axis=1) - 1).max() < 1e-12


def test_erdos_renyi_draws_the_asked_share_of_edges():
    graph = build("erdos-renyi:0.3", 200, seed=4)
    assert graph.edge_count / (200 * 199 / 2) == pytest.approx(0.3, abs=0.01)
    assert not np.array_equal(graph.W, build("erdos-renyi:0.3", 200, seed=5).W)


@pytest.mark.parametrize("N", [2, 3, 10, 100])
def test_erdos_renyi_without_a_probability_connects(N):
    assert build("erdos-renyi", N, seed=9).N == N


@pytest.mark.parametrize(
    ("spec", "agents", "said"),
    [
        ("rign", 10, "Did you mean 'ring'"),
        ("erdos-reny:0.3", 10, "Did you mean 'erdos-renyi'"),
        ("bipartite", 9, "use 8 or 10 agents"),
        ("hypercube", 10, "use 8 or 16 agents"),
        ("torus", 11, "use 10 or 12 agents"),
        ("torus:3x5", 12, "agents = 12"),
        ("torus:1x12", 12, "at least 2 rows"),
        ("torus:three", 12, "torus:ROWSxCOLUMNS"),
        ("ring:3", 12, "nothing after a colon"),
        ("erdos-renyi:x", 12, "erdos-renyi:PROBABILITY"),
        ("erdos-renyi:0", 12, "above 0 and at most 1"),
        ("erdos-renyi:nan", 12, "above 0 and at most 1"),
        ("erdos-renyi:0.001", 100, "ln(N)/N = 0.046"),
        ("ring", 1, "one agent alone is 'complete'"),
        ("ring", 0, "2 to 10000 agents, but agents = 0"),
        ("ring", -3, "agents = -3"),
        ("ring", 10**9, "agents = 1000000000"),
        ("ring", None, "needs the number of agents"),
        ("ring", 2.5, "whole number, not 2.5"),
        ("bipartite-hub", 2, "3 to 10000 agents"),
        ("", 10, "Unknown graph ''"),
        ("x" * 5000, 10, "Unknown graph"),
    ],
)
def test_what_cannot_be_built_is_refused_with_advice(spec, agents, said):
    with pytest.raises(InputError) as error:
        build(spec, agents)
    assert said in str(error.value)


def test_unknown_weights_and_given_weights_are_refused():
    with pytest.raises(InputError, match="Did you mean 'metropolis'"):
        build("ring", 10, "metropolys")
    with pytest.raises(InputError, match="need a graph file"):
        build("ring", 10, "given")


def test_one_agent_alone_is_a_graph():
    graph = graphs.complete(1)
    assert graph.W.tolist() == [[1.0]]
    assert (graph.spectral_gap, graph.rho, graph.edge_count) == (1.0, 0.0, 0)
