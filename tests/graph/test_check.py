"""What a mixing matrix must satisfy: every refusal names the row or the edge."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.graph.check import (
    MAX_AGENTS,
    TOLERANCE,
    agents_count,
    as_matrix,
    check_connected,
    check_weights,
    reachable,
)


def third(N: int = 3) -> np.ndarray:
    return np.full((N, N), 1 / N)


@pytest.mark.parametrize("agents", [2, MAX_AGENTS, np.int64(5)])
def test_whole_numbers_in_the_range_are_taken(agents: int) -> None:
    found = agents_count(agents, 2, "ring")
    assert type(found) is int and found == agents


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        (1, "needs 2 to 10000 agents, but agents = 1 (one agent alone is 'complete')"),
        (0, "but agents = 0."),
        (MAX_AGENTS + 1, "but agents = 10001."),
        (3.0, "must be a whole number, not 3.0"),
        ("3", "must be a whole number, not '3'"),
        (True, "must be a whole number, not True"),
    ],
)
def test_other_numbers_of_agents_are_refused(agents, words: str) -> None:
    with pytest.raises(InputError) as caught:
        agents_count(agents, 2, "ring")
    assert words in str(caught.value)


def test_a_matrix_is_a_copy_in_float64() -> None:
    given = np.eye(2, dtype=np.int32)
    found = as_matrix(given)
    given[0, 0] = 9
    assert found.dtype == np.float64 and found[0, 0] == 1
    assert as_matrix([[True]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("W", "words"),
    [
        (np.ones((2, 3)), "but its shape is (2, 3)"),
        (np.ones(4), "but its shape is (4,)"),
        ([], "but its shape is (0,)"),
        ([["a"]], "square matrix of real numbers"),
        ([[1, 2], [3]], "square matrix of real numbers"),
        (None, "square matrix of real numbers"),
        ([[1.0, np.nan], [0.0, 1.0]], "finite numbers, but w[0,1] = nan"),
    ],
)
def test_what_is_no_matrix_is_refused(W, words: str) -> None:
    with pytest.raises(InputError) as caught:
        as_matrix(W)
    assert words in str(caught.value)


def changed(i: int, j: int, by: float) -> np.ndarray:
    W = third()
    W[i, j] += by
    return W


@pytest.mark.parametrize(
    ("W", "words"),
    [
        (changed(1, 2, -0.4), "must not be negative, but w[1,2]"),
        (changed(0, 2, 1e-3), "not symmetric: w[0,2]"),
        (third() * 1.01, "Row 0 of W sums to 1.01, not 1"),
        (changed(2, 2, 1e-3), "Row 2 of W sums to"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "Agent 0 must keep a positive weight"),
    ],
)
def test_wrong_weights_are_refused_by_place(W: np.ndarray, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_weights(W)
    assert words in str(caught.value)


def test_rounding_is_not_refused() -> None:
    check_weights(third())
    check_weights(changed(0, 2, TOLERANCE / 2))


def test_a_message_reaches_what_is_connected() -> None:
    path = np.eye(4, k=1) + np.eye(4, k=-1) > 0
    assert reachable(path).all()
    path[1, 2] = path[2, 1] = False
    assert reachable(path).tolist() == [True, True, False, False]
    with pytest.raises(InputError, match="agents 2, 3 cannot be reached from agent 0"):
        check_connected(path)


def test_of_many_lost_agents_five_are_named() -> None:
    with pytest.raises(InputError, match=r"agents 1, 2, 3, 4, 5 and 4 more cannot"):
        check_connected(np.eye(10) > 0)
    with pytest.raises(InputError, match="agent 1 cannot be reached"):
        check_connected(np.eye(2) > 0)
