"""Graphs of secrets, and what a listener or a coalition can solve for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms import secrets
from dpdl.algorithms.coalitions import against_all
from dpdl.algorithms.secrets import (
    ENOUGH,
    SecretNoise,
    enough_correlation,
    pairs_of,
    regular,
)
from dpdl.errors import InputError
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, threat
from tests.reference.concord import information


@pytest.mark.parametrize(("agents", "degree"), [(6, 3), (10, 2), (12, 11), (40, 8)])
def test_a_regular_graph_of_secrets_is_regular_connected_and_always_the_same(
    agents: int, degree: int
) -> None:
    found = regular(agents, degree)
    assert (found == found.T).all() and not found.diagonal().any()
    assert set(found.sum(axis=1).tolist()) == {degree}
    assert np.linalg.matrix_power(found + np.eye(agents), agents).all()
    assert (found == regular(agents, degree)).all()


def test_its_secrets_are_spread_and_not_those_of_a_circle() -> None:
    found = regular(60, 6)
    near = sum(int(found[i, (i + k) % 60]) for i in range(60) for k in (1, 2, 3))
    assert near < 60  # of 180


@pytest.mark.parametrize("degree", [1, 7, 8])
def test_a_regular_graph_that_does_not_exist_is_refused(degree: int) -> None:
    with pytest.raises(InputError, match=f"'regular:{degree}' needs 2 to 6"):
        regular(7, degree)
    with pytest.raises(InputError, match="even number"):
        regular(7, 3)


def test_secrets_are_complete_up_to_a_hundred_agents_unless_asked_otherwise() -> None:
    assert pairs_of(None, graphs.ring(100)).sum() == 100 * 99
    assert pairs_of(None, graphs.ring(101)).sum() == 101 * 32
    assert pairs_of("links", graphs.ring(8)).sum() == 16
    assert pairs_of("regular:4", graphs.ring(9)).sum() == 36


@pytest.mark.parametrize(
    ("words", "agents"),
    [
        *((words, agents) for words in ("complete", "links") for agents in (2, 10, 30)),
        *(("regular:4", agents) for agents in (10, 30)),
    ],
)
def test_the_default_correlation_is_the_least_that_is_enough(
    words: str, agents: int
) -> None:
    graph = graphs.path(agents)
    c = enough_correlation(words, graph)

    def of(c: float) -> float:
        noise = SecretNoise(words, c)
        return agents * max(
            noise.exposure(graph, i, EAVESDROPPER) for i in range(agents)
        )

    assert of(c) < ENOUGH <= of(0.9 * c)
    assert SecretNoise(words, None).exposure(graph, 0, EAVESDROPPER) == pytest.approx(
        SecretNoise(words, c).exposure(graph, 0, EAVESDROPPER)
    )


@pytest.mark.parametrize("words", ["complete", "links", "regular:3"])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 6])
def test_exposure_is_what_the_worst_coalition_anywhere_can_solve_for(
    words: str, k: int
) -> None:
    graph, c = graphs.ring(6), 3.0
    pairs = pairs_of(words, graph)
    listener = threat(f"neighbours:{k}") if k else EAVESDROPPER
    for agent in range(6):
        rest = [j for j in range(6) if j != agent]
        coalitions = itertools.combinations(rest, min(k, 5))
        worst = max(information(pairs, agent, set(J), c) for J in coalitions)
        found = SecretNoise(words, c).exposure(graph, agent, listener)
        assert found == pytest.approx(worst)


def test_a_complete_graph_of_secrets_leaves_one_over_those_who_are_honest() -> None:
    noise = SecretNoise("complete", 1e5)
    for graph in (graphs.ring(10), graphs.star(10)):
        for k in (1, 2, 5, 8):
            found = noise.exposure(graph, 3, threat(f"neighbours:{k}"))
            assert found == pytest.approx(1 / (10 - k), rel=1e-6)
        assert noise.exposure(graph, 3, threat("neighbours:9")) == 1.0
        assert noise.exposure(graph, 3, threat("neighbours:99")) == 1.0


def test_a_secret_for_every_link_of_a_ring_is_lost_to_two_who_conspire() -> None:
    noise, graph = SecretNoise("links", 30.0), graphs.ring(10)
    assert noise.exposure(graph, 0, threat("neighbours:2")) == 1.0
    assert noise.exposure(graph, 0, threat("neighbours:1")) < 0.2


@pytest.mark.parametrize("k", [1, 2])
def test_coalitions_that_are_not_tried_are_covered_by_a_bound(k: int) -> None:
    pairs, c = regular(14, 6), 4.0
    tried = against_all(
        14, k, lambda left: secrets._hidden(pairs[np.ix_(left, left)], c)
    )
    assert tried is not None
    bound = secrets._bound(pairs, c, k)
    assert tried.max() <= bound < 1
    # Random ones on a graph that is too large to try them all.
    large = regular(110, 32)
    bound = secrets._bound(large, c, 15)
    draw = np.random.default_rng(0)
    for _ in range(2):
        J = set(draw.choice(109, 15, replace=False).tolist())
        assert information(large, 109, J, c) <= bound < 0.02
    noise = SecretNoise("regular:32", c)
    found = noise.exposure(graphs.ring(110), 7, threat("neighbours:15"))
    assert found == pytest.approx(bound)


@pytest.mark.parametrize("c", [1e7, 1e8, 1e9, 1e20, 1e90])
@pytest.mark.parametrize("name", ["ring", "star", "path", "bipartite"])
def test_noise_of_any_size_hides_an_agent_among_the_others_and_no_better(
    name: str, c: float
) -> None:
    """An inverse would lose the noise of an agent's own to rounding, and say 0, or nothing."""
    graph = graphs.build(name, 20, "metropolis", 0)
    for k in (0, 1):
        listener = threat(f"neighbours:{k}") if k else EAVESDROPPER
        for agent in (0, 7):
            much = SecretNoise("links", 1e4).exposure(graph, agent, listener)
            found = SecretNoise("links", c).exposure(graph, agent, listener)
            assert (1 - 1e-6) / (20 - k) <= found <= much * (1 + 1e-6)
    # Here the second eigenvalue is k, but for its rounding.
    bound = SecretNoise("links", c).exposure(
        graphs.bipartite(40), 0, threat("neighbours:20")
    )
    assert bound > 0.9


def test_as_many_conspirators_as_an_agent_has_secrets_leave_its_own_noise() -> None:
    noise, graph = SecretNoise("regular:4", 10.0), graphs.ring(20)
    assert noise.exposure(graph, 0, threat("neighbours:4")) == 1.0
    assert noise.exposure(graph, 0, threat("neighbours:2")) < 0.2


def test_who_sees_models_alone_is_promised_what_an_eavesdropper_is() -> None:
    noise, graph = SecretNoise(None, None), graphs.ring(5)
    assert noise.exposure(graph, 0, FINAL_MODEL) == noise.exposure(
        graph, 0, EAVESDROPPER
    )
    assert "counted as the eavesdropper" in noise.proof(FINAL_MODEL)
    assert "worst K anywhere" in noise.proof(threat("neighbours:2"))
    assert "exact" in noise.proof(EAVESDROPPER)


def test_one_agent_has_no_secrets() -> None:
    graph = graphs.complete(1)
    assert enough_correlation(None, graph) == 0.0
    assert SecretNoise(None, None).exposure(graph, 0, EAVESDROPPER) == 1.0
