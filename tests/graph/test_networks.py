"""A graph of networkx becomes a graph of agents, or is refused in a sentence."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from dpdl import graph
from dpdl.errors import InputError
from dpdl.graph.networks import from_networkx, is_network


def test_the_same_ring_has_the_same_weights() -> None:
    for rule in ("metropolis", "uniform", "sinkhorn"):
        found = from_networkx(networkx.cycle_graph(6), rule, seed=3)
        assert np.array_equal(found.W, graph.ring(6, rule, seed=3).W)


def test_nodes_are_agents_in_their_order_whatever_they_are() -> None:
    network = networkx.Graph(name="clinics")
    network.add_nodes_from(["north", "south", "west"])
    network.add_edges_from([("west", "north"), ("north", "south"), ("west", "west")])
    found = from_networkx(network)
    assert found.name == "clinics"
    assert sorted(map(tuple, np.argwhere(np.triu(found.W, 1)))) == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (networkx.DiGraph([(0, 1)]), "must be undirected"),
        (networkx.MultiGraph([(0, 1), (0, 1)]), "one edge between two agents"),
        (networkx.Graph([(0, 1), (2, 3)]), "not connected"),
        (networkx.Graph(), "at least one agent"),
    ],
)
def test_what_agents_cannot_use_is_refused(network, words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_networkx(network)


def test_weights_that_a_rule_does_not_give_are_refused() -> None:
    with pytest.raises(InputError, match="need a graph file"):
        from_networkx(networkx.cycle_graph(3), "given")


def test_only_networks_are_networks() -> None:
    assert is_network(networkx.Graph()) and is_network(networkx.DiGraph())
    assert not is_network([(0, 1)]) and not is_network(graph.ring(3))
