"""A graph as a page draws it."""

from __future__ import annotations

import json
import re

import pytest

from dpdl.graph import Graph, build, ring
from dpdl.watch.drawing import MOST_EDGES, drawing

PIECE = re.compile(
    r"M(-?[\d.]+) (-?[\d.]+)(?:L|Q-?[\d.]+ -?[\d.]+ )(-?[\d.]+) (-?[\d.]+)"
)


@pytest.mark.parametrize(
    "name", ["ring", "complete", "star", "bipartite", "torus:4x5", "erdos-renyi:0.4"]
)
def test_every_edge_joins_two_agents(name: str) -> None:
    graph = build(name, 20)
    found = drawing(graph)
    places = {(round(x, 3), round(y, 3)) for x, y in found["points"]}
    assert len(places) == 20
    pieces = PIECE.findall(found["path"])
    assert len(pieces) == found["edges"] == found["drawn"] == graph.edge_count
    for x, y, u, v in pieces:
        for one in ((float(x), float(y)), (float(u), float(v))):
            assert any(abs(one[0] - a) + abs(one[1] - b) < 0.003 for a, b in places)


def test_two_hundred_agents_keep_a_page_small() -> None:
    for name in ("ring", "complete"):
        found = drawing(build(name, 200))
        assert len(found["points"]) == 200
        assert found["drawn"] <= MOST_EDGES < 19_900
        assert len(json.dumps(found)) < 300_000


def test_many_agents_on_a_circle_have_room_to_be_seen() -> None:
    few, many = drawing(ring(60)), drawing(ring(200))
    assert many["room"] > 0.08
    assert {round(x * x + y * y, 3) for x, y in few["points"]} == {1.0}
    radii = {round((x * x + y * y) ** 0.5, 3) for x, y in many["points"]}
    assert radii == {1.0, 0.915, 0.83, 0.745}


def test_agent_0_of_a_ring_is_at_the_top() -> None:
    """In a picture y grows downwards."""
    x, y = drawing(ring(8))["points"][0]
    assert (x, y) == (pytest.approx(0, abs=1e-6), pytest.approx(-1))


def test_one_agent_alone_can_be_drawn() -> None:
    found = drawing(Graph([[1.0]], "alone"))
    assert (found["agents"], found["path"]) == (1, "")
