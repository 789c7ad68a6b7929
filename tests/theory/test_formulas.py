"""Theorem 2 and Corollary 1 by hand, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.graph import build
from dpdl.theory import (
    MEANING,
    TERMS,
    Letters,
    applies,
    bound,
    conditions,
    corollary,
    largest_smoothness,
    notes,
    step_sizes,
    verdict,
)
from tests.theory.values import CIFAR, MNIST, RHO, SMALL, any_setting

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text("utf-8")


# ------------------------------------------------------------------ by hand
def test_constants_by_hand():
    # C_1 = 0.1 / 1 - 0.5 / 32 = 27/320, so 1 / C_1 = 320/27.
    # C_2 = 0.5 * 0.25 / (2 C_1 0.5) = 0.125 * 320/27         C_3 = 0.25 * 0.01 / (2 C_1 0.125) = 0.01 * 320/27
    # C_4 = 0.1 / (2 C_1 0.5) = 0.1 * 320/27                  C_5 = 8 * 0.01 / (2 C_1 0.125) = 0.32 * 320/27
    # C_6 = 0.0625 * 0.1 / (2 C_1 0.5) = 0.00625 * 320/27
    expected = {
        "C_1": 27 / 320,
        "C_2": 40 / 27,
        "C_3": 3.2 / 27,
        "C_4": 32 / 27,
        "C_5": 102.4 / 27,
        "C_6": 2 / 27,
    }
    assert bound(SMALL).constants == pytest.approx(expected, rel=1e-12)


def test_terms_by_hand():
    # eta^2 / ((1 - beta)^2 (1 - sqrt(rho))^2) = 0.01 / (0.25 * 0.25) = 0.16; C^2 sigma^2 d = 40; w_min^2 = 1/16.
    # C_2 eta^2 beta^2 / (1 - beta)^4 + C_3 + 2 C_5 = (40 * 0.04 + 3.2 + 204.8) / 27 = 209.6 / 27.
    expected = {
        "start": 2 / 100 * 320 / 27,
        "agents": 60 * 0.16 * 2 / 27 * 1,
        "sampling": (4 * 102.4 / 4 + 60 * 0.16 * 2) / 27 * 4,
        "noise": 209.6 / 27 * (3 * 40) / (25 * 16 / 16),
        "noise_consensus": 24 * 0.16 * 2 / 27 * 40 / (25 * 4 / 16) * 40,
        "gradient": 209.6 / 27 * (48 + 27 / 16 * 4 * 4) / (16 * 4 / 16),
        "gradient_consensus": (48 * 25 + 27 / 16 * 2 * 4)
        * 0.16
        * 2
        / 27
        / (25 * 4 / 16),
    }
    found = bound(SMALL)
    assert list(found.terms) == list(TERMS) == list(expected)
    assert found.terms == pytest.approx(expected, rel=1e-12)
    assert found.total == pytest.approx(7476.2912 / 27, rel=1e-12)


def test_conditions_by_hand():
    lower, consensus, descent, c1, *_ = conditions(SMALL)
    assert lower.limit == 0.25 / 256
    assert consensus.limit == pytest.approx(
        0.5 * 0.75 / (2 * math.sqrt(30) * 0.25), rel=1e-12
    )
    # 15 * 0.25 * 0.0625 * 16 = 3.75 under the root; 30 * 0.0625 * 4 = 7.5 below.
    assert descent.limit == pytest.approx(
        0.5 * (math.sqrt(65536 + 3.75) - 128) / 7.5, rel=1e-12
    )
    assert (c1.name, c1.limit) == ("C_1 > 0", 0.0)
    assert c1.value == pytest.approx(27 / 320)
    assert all(c.holds for c in conditions(SMALL))
    assert applies(SMALL)
    assert (
        verdict(SMALL)
        == "Theorem 2 applies: the mean squared gradient norm over 100 rounds is at most 276.9."
    )


def test_corollary_by_hand():
    found = corollary(SMALL)
    assert found.first == pytest.approx(
        2 * math.sqrt(30) * 4 * 0.25 * 0.5 / (0.5 * 0.75), rel=1e-12
    )  # 14.6
    # 30 / 0.5 * 16 * 0.0625 * 0.5 = 30 above; 15 * 0.5 * 0.0625 * 16 = 7.5 under the root.
    assert found.second == pytest.approx(30 / (math.sqrt(263.5) - 8), rel=1e-12)
    assert (found.required, found.met) == (15, True)
    assert not corollary(replace(SMALL, T=14)).met
    assert found.c == pytest.approx(0.1 * 100 / (4 * 0.5))
    assert found.below == pytest.approx(256 * 2 / 0.25)
    assert corollary(replace(SMALL, epsilon=None)) is None


# ------------------------------------------------------------------ what follows
def test_the_first_condition_does_not_make_c1_positive():
    """The theorem allows every step size above a^2 / 256; C_1 > 0 needs sixteen times as much."""
    a2 = (1 - 0.7) ** 2
    for eta in (1.01 * a2 / 256, 0.005, 0.99 * a2 / 16):
        lower, _, _, c1, *_ = conditions(replace(MNIST, eta=eta))
        assert lower.holds
        assert not c1.holds
    assert conditions(replace(MNIST, eta=1.01 * a2 / 16))[3].holds


def test_without_a_positive_c1_there_is_no_bound():
    found = bound(MNIST)
    assert found.total is None
    assert set(found.terms.values()) == {None}
    assert found.constants["C_1"] == pytest.approx(0.005 / 0.6 - 0.3 / 32)
    assert any("there is no bound" in note for note in notes(MNIST))


@pytest.mark.parametrize("graph", RHO)
def test_the_papers_settings_do_not_meet_its_conditions(graph):
    mnist, cifar = replace(MNIST, rho=RHO[graph]), replace(CIFAR, rho=RHO[graph])
    assert not applies(mnist)  # C_1 < 0
    assert not applies(cifar)  # the second condition, for L = 1
    for setting in (mnist, cifar):
        assert (largest_smoothness(setting) is None) == (graph == "complete")


def test_on_a_complete_graph_no_step_size_works_for_64_agents_or_fewer():
    """For rho = 0 the third limit is at most a^2 N / 1024, whatever L is, and C_1 > 0 asks for a^2 / 16."""
    for L in (1e-4, 1e-2, 1.0, 100.0):
        assert step_sizes(replace(MNIST, rho=0.0, L=L, N=64)).useless
    assert not step_sizes(replace(MNIST, rho=0.0, L=1e-4, N=65)).useless


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_every_step_size_of_the_interval_and_no_other_meets_the_conditions(q: Letters):
    sizes = step_sizes(q)
    assert (q.eta > sizes.above and q.eta <= sizes.up_to) == all(
        c.holds for c in conditions(q)[:3]
    )
    if not sizes.useless:
        assert applies(replace(q, eta=sizes.up_to))
    assert not applies(replace(q, eta=sizes.up_to * 1.001))


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_upper_conditions_hold_up_to_the_largest_smoothness(q: Letters):
    largest = largest_smoothness(q)
    if largest is None:
        largest = 1e-3
    else:
        assert all(c.holds for c in conditions(replace(q, L=largest * 0.999))[1:3])
    assert not all(c.holds for c in conditions(replace(q, L=largest * 1.001))[1:3])


@settings(max_examples=60, deadline=None)
@given(
    q=any_setting,
    name=st.sampled_from(
        ["C", "sigma", "d", "alpha", "xi", "kappa", "gap", "L", "rho"]
    ),
)
def test_the_bound_grows_with_what_the_paper_says_it_grows_with(q: Letters, name: str):
    more = (1 + q.rho) / 2 if name == "rho" else 2 * getattr(q, name)
    before, after = bound(q), bound(replace(q, **{name: more}))
    assert (before.total is None) == (after.total is None)
    if before.total is not None:
        assert after.total >= before.total
        assert all(after.terms[term] >= before.terms[term] for term in TERMS)


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_more_rounds_make_only_the_first_term_smaller(q: Letters):
    before, after = bound(q).terms, bound(replace(q, T=2 * q.T)).terms
    assert {term for term in TERMS if before[term] != after[term]} <= {"start"}


def test_the_third_limit_keeps_its_digits_for_a_small_l():
    """For rho = 0 and L -> 0 it tends to a^2 N / 1024; the plain difference would be 0."""
    assert conditions(replace(MNIST, rho=0.0, L=1e-9))[2].limit == pytest.approx(
        0.09 * 10 / 1024
    )


def test_without_momentum_only_c2_is_missing():
    plain, tiny = bound(replace(SMALL, beta=0.0)), bound(replace(SMALL, beta=1e-12))
    assert plain.constants["C_2"] is None
    assert plain.terms == pytest.approx(tiny.terms)


@pytest.mark.parametrize("name", MEANING)
@pytest.mark.parametrize("value", [math.nan, -1, "x", True])
def test_what_cannot_be_right_does_not_construct(name, value):
    with pytest.raises(InputError, match="must be"):
        replace(SMALL, **{name: value})


# ------------------------------------------------------------------ documentation


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_gradient_term_has_a_floor_that_no_step_size_and_no_patience_lowers(
    q: Letters,
):
    floor = 12 * q.C**2 / (q.w_min**2 * q.N) + 6.75 * q.alpha**2 * q.C**2
    term = bound(q).terms["gradient"]
    assert term is None or term >= floor * (1 - 1e-9)


def test_the_floors_in_the_documentation_are_computed():
    for graph, alpha in (("complete", 1.5), ("bipartite", 1.5), ("ring", 2.0)):
        w_min = build(graph, 10).w_min
        assert f"{12 * 4 / (w_min**2 * 10) + 6.75 * alpha**2 * 4:.0f} ({graph})" in PAGE


def test_the_inequality_behind_the_third_condition_can_fail_where_the_condition_holds():
    q = replace(MNIST, rho=RHO["ring"])
    assert conditions(q)[2].holds
    assert (
        f"{16 * q.eta / q.N + 30 * (q.L * q.eta / q.s) ** 2:.4f} and the right side"
        in PAGE
    )
    assert 16 * q.eta / q.N + 30 * (q.L * q.eta / q.s) ** 2 > q.a**2 / 2
