"""Theorem 1 as stated, against values worked out by hand from the paper's formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.privacy.theorem1 import Theorem1, public_code_sigma


def mnist(**changes) -> Theorem1:
    settings = {
        "agents": 10,
        "fewest_neighbours": 10,
        "w_min": 0.1,
        "w_max": 0.1,
        "fewest_records": 6000,
    }
    settings |= {"batch_size": 216, "rounds": 1000, "delta": 1e-5, "alpha": 1.5}
    return Theorem1(**(settings | changes))


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.25, 5.79), (0.5, 2.89), (1.0, 1.45)])
def test_sigma_on_the_complete_graph_of_the_paper(epsilon: float, sigma: float) -> None:
    assert mnist().sigma(epsilon) == pytest.approx(sigma, abs=0.006)


def test_sigma_written_out_for_a_graph_with_unequal_weights() -> None:
    """N = 4, w from 0.2 to 0.5, min |N_i| = 3, B = 10, min D = 50, T = 9, alpha = 2, c_2 = 3, h = 2."""
    theorem = Theorem1(4, 3, 0.2, 0.5, 50, 10, 9, math.exp(-4), 2.0, c2=3.0, h=2.0)
    sensitivity = 2 / math.sqrt(0.2) + 15 * 2 * 4 / 8 + 2 * 0.5 * 9 * 4 / 4
    expected = (
        sensitivity * 3 * (10 / 200) * math.sqrt(9 * 4) / (math.sqrt(3 / 0.5) * 0.7)
    )
    assert theorem.sigma(0.7) == pytest.approx(expected, rel=1e-12)


def test_epsilon_and_sigma_are_inverse() -> None:
    assert mnist().epsilon(mnist().sigma(0.37)) == pytest.approx(0.37, rel=1e-12)


def test_public_code_sigma_on_the_complete_graph() -> None:
    expected = 96 * (216 * 10 / 5e5) / 0.5 * (math.sqrt(10) + 15) / 10
    assert public_code_sigma(graphs.complete(10).W, 216, 0.5) == pytest.approx(
        expected, rel=1e-12
    )


def test_public_code_sigma_takes_the_agent_that_needs_most() -> None:
    W = graphs.star(5).W
    by_agent = [
        96
        * (20 * 5 / 5e5)
        / 2
        * (1 / math.sqrt(W[i, i]) + 7.5)
        / math.sqrt(sum(1 / w for w in W[i] if w > 0))
        for i in range(5)
    ]
    assert np.ptp(by_agent) > 0
    assert public_code_sigma(W, 20, 2.0) == pytest.approx(max(by_agent), rel=1e-12)


def test_the_appendix_has_other_terms_than_the_statement() -> None:
    """N = 4, w from 0.2 to 0.5: (1 - w_min) in the middle term and w_min under the root."""
    theorem = Theorem1(4, 3, 0.2, 0.5, 50, 10, 9, math.exp(-4), 2.0, c2=3.0, h=2.0)
    sensitivity = 2 / math.sqrt(0.2) + 15 * 2 * (1 - 0.2) / 8 + 2 * 0.5 * 9 * 4 / 4
    expected = (
        sensitivity * 3 * (10 / 200) * math.sqrt(9 * 4) / (math.sqrt(3 / 0.2) * 0.7)
    )
    assert theorem.appendix_sigma(0.7) == pytest.approx(expected, rel=1e-12)


def test_side_conditions_that_fail_are_named() -> None:
    """q = 0.0036, sigma = 2.89: q < 1 / (32 sigma) = 0.0108 holds, epsilon <= c_1 q^2 T = 0.013 does not."""
    complaints = mnist().complaints(0.5, 1.0)
    assert len(complaints) == 1
    assert "c_1 q^2 T = 0.013" in complaints[0]
    assert mnist().complaints(0.5, 100.0) == []
    assert any(
        "q < 1 / (32 sigma)" in words
        for words in mnist(fewest_records=600).complaints(0.5, 1e6)
    )
    assert any("sigma > 1" in words for words in mnist().complaints(2.0, 1e6))
