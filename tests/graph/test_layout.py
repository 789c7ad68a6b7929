"""Where agents are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.graph import Graph, build
from dpdl.graph.layout import curves, layout, spacing


@pytest.mark.parametrize("name", graphs.GRAPHS)
def test_agents_stand_apart_within_the_frame(name):
    graph = build(name, 16)
    points = layout(graph)
    assert points.shape == (16, 2)
    assert np.abs(points).max() <= 1 + 1e-9
    distance = np.linalg.norm(points[:, None] - points, axis=2) + 4 * np.eye(16)
    assert distance.min() > 0.1


@pytest.mark.parametrize(
    "name", ["torus:2x3", "bipartite", "bipartite-hub", "hypercube", "star", "anything"]
)
@pytest.mark.parametrize("N", [1, 2, 5])
def test_a_name_that_does_not_fit_the_matrix_does_no_harm(name, N):
    points = layout(Graph(np.full((N, N), 1 / N), name))
    assert np.isfinite(points).all()
    assert points.shape == (N, 2)


def test_bipartite_halves_stand_in_two_columns():
    points = layout(build("bipartite", 10))
    assert (points[::2, 0] == -1).all()
    assert (points[1::2, 0] == 1).all()


def test_the_rim_of_a_drawn_hypercube_consists_of_edges():
    graph = build("hypercube", 16)
    points = layout(graph)
    order = np.argsort(np.arctan2(points[:, 1], points[:, 0]))
    assert (graph.W[order, np.roll(order, 1)] > 0).all()


def test_an_edge_bends_around_an_agent_in_its_way():
    points = layout(build("torus:3x4", 12))
    wrap, step = curves(points, np.array([[4, 7], [4, 5]]))
    x, y = points[[5, 6]].T
    assert np.abs(np.interp(x, *wrap.T) - y).min() > spacing(points) / 4
    assert np.ptp(step[:, 1]) < 1e-9
    assert wrap[[0, -1]] == pytest.approx(points[[4, 7]])
