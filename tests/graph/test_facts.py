"""A graph in numbers, as programs read them."""

from __future__ import annotations

import json

import pytest

from dpdl.graph import GraphFacts, build, describe


def test_facts_are_json_and_count_undirected_edges() -> None:
    found = json.loads(json.dumps(describe(build("ring", 5)).to_json()))
    assert list(found) == [
        "name",
        "agents",
        "edges",
        "spectral_gap",
        "rho",
        "degree",
        "weights",
    ]
    assert (found["name"], found["agents"], found["edges"]) == ("ring", 5, 5)
    assert found["degree"] == {"min": 2, "max": 2}
    assert found["weights"][0] == [1 / 3, 1 / 3, 0, 0, 1 / 3]


@pytest.mark.parametrize(
    ("name", "agents", "edges", "least", "most"),
    [("star", 6, 5, 1, 5), ("complete", 1, 0, 0, 0), ("path", 4, 3, 1, 2)],
)
def test_degrees_do_not_count_the_agent_itself(
    name, agents, edges, least, most
) -> None:
    facts = describe(build(name, agents))
    assert (facts.edges, facts.degree.min, facts.degree.max) == (edges, least, most)


def test_facts_are_read_again_and_weights_keep_their_bits() -> None:
    graph = build("erdos-renyi", 9, "sinkhorn", 3)
    facts = describe(graph)
    again = GraphFacts.from_json(json.loads(json.dumps(facts.to_json())))
    assert again == facts
    assert again.weights == tuple(map(tuple, graph.W.tolist()))
    assert facts.rho == pytest.approx((1 - facts.spectral_gap) ** 2)
