"""The rules that turn a pattern into a mixing matrix."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.graph import patterns
from dpdl.graph.weights import (
    WEIGHTS,
    check_rule,
    metropolis,
    sinkhorn,
    uniform,
    weigh,
)
from dpdl.keys import generator

PATTERNS = {
    "path": patterns.path(5),
    "star": patterns.star(6),
    "complete": patterns.complete(4),
    "alone": patterns.complete(1),
    "random": patterns.erdos_renyi(15, 0.4, 3),
}


@pytest.mark.parametrize("rule", ["metropolis", "uniform", "sinkhorn"])
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_every_rule_gives_a_mixing_matrix(rule: str, pattern) -> None:
    W = weigh(pattern, rule, 7)
    assert (W == W.T).all(), "symmetric to the last bit"
    assert np.abs(W.sum(axis=1) - 1).max() <= 1e-12
    assert (W.diagonal() > 0).all()
    off = ~np.eye(len(W), dtype=bool)
    assert ((W > 0)[off] == pattern[off]).all(), "weights on edges, nowhere else"


def test_metropolis_on_a_path_by_hand() -> None:
    expected = [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 3, 2 / 3]]
    assert metropolis(patterns.path(3)) == pytest.approx(np.array(expected))


def test_uniform_on_a_star_by_hand() -> None:
    W = uniform(patterns.star(4))
    assert W[0].tolist() == [0.25] * 4
    assert W[1].tolist() == [0.25, 0.75, 0, 0]


@pytest.mark.parametrize("rule", [metropolis, uniform])
def test_rows_of_a_complete_graph_are_equal_bit_by_bit(rule) -> None:
    found = rule(patterns.complete(7))
    assert len(np.unique(found)) == 1


def test_sinkhorn_scales_weights_that_the_seed_draws() -> None:
    """w_ij = s_i a_ij s_j, so that s cancels in a ratio of ratios."""
    a = generator(3, "graph-weights").uniform(0.1, 1.0, size=(4, 4))
    w = sinkhorn(patterns.complete(4), 3)
    drawn = a[0, 1] * a[2, 3] / (a[0, 2] * a[1, 3])
    assert w[0, 1] * w[2, 3] / (w[0, 2] * w[1, 3]) == pytest.approx(drawn)
    assert np.array_equal(w, sinkhorn(patterns.complete(4), 3))
    assert not np.allclose(w, sinkhorn(patterns.complete(4), 4))


def test_rules_that_do_not_exist_or_do_not_fit_are_refused() -> None:
    for rule in WEIGHTS:
        check_rule(rule)
    with pytest.raises(InputError, match="Did you mean 'uniform'"):
        check_rule("unifrom")
    with pytest.raises(InputError, match="need a graph file that holds them"):
        weigh(patterns.ring(3), "given", 0)
