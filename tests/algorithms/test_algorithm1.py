"""What Algorithm 1 discloses: the bound against exact laws, and what it depends on."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms.algorithm1 import KAPPA, Algorithm1, dominating, shortest, views
from dpdl.algorithms.disclosure import Setting
from dpdl.privacy.threats import (
    DEFAULT_THREATS,
    EAVESDROPPER,
    FINAL_MODEL,
    ONE_NEIGHBOUR,
    threat,
)
from tests.reference.self_term import Line, gaussian

GAMMAS = (1.0, 1.5, 3.0, 10.0, 100.0, 1e4)
HIGHEST = 1 / (1 + math.exp(-1))
RING = graphs.ring(100)


def at(sigma: float, largest: int = 7500, size: int = 44_426) -> Setting:
    return Setting(sigma, largest, size, 1e-11)


def line(
    sigma: float,
    setting: Setting,
    disclosure: Algorithm1,
    graph=RING,
    cosine: float = 0.0,
) -> Line:
    """The law of agent 0 whose neighbours' coefficients have this cosine, at the shortest answer that is likely."""
    w = float(graph.W[0, 0])
    rho = sigma * shortest(setting.size - 2, setting.failure / 4)
    return Line(
        sigma,
        disclosure.alpha * len(graph) * math.sqrt(w),
        w,
        (1 - w) / (1 + math.exp(cosine)),
        rho,
    )


def own(disclosure: Algorithm1, graph, setting: Setting) -> float:
    """The mu of agent 0's update alone: without the answers that left directly."""
    (view,) = views(graph, disclosure.alpha, 0, EAVESDROPPER)
    return disclosure._mu(view._replace(direct=0), setting)


@pytest.mark.parametrize("sigma", [420.0, 700.0, 1000.0, 4000.0])
@pytest.mark.parametrize("cosine", [-1.0, 0.0, 1.0])
def test_bound_is_above_the_exact_law_of_the_update(
    sigma: float, cosine: float
) -> None:
    """Ring of 100, alpha 2, batches of 7,500: the mask is contracted by 20 to 90 %."""
    disclosure, setting = Algorithm1(2.0, "vector"), at(sigma)
    exact = line(sigma, setting, disclosure, cosine=cosine)
    mu = own(disclosure, RING, setting)
    for r, other in (
        (7500.0, 7499.0),
        (7499.0, 7500.0),
        (1.0, 0.0),
        (0.0, 1.0),
        (3000.0, 2999.0),
    ):
        for gamma in GAMMAS:
            assert (
                exact.divergence(r, other, gamma)
                <= gaussian(mu, gamma) + setting.failure + 1e-9
            )


def test_without_the_contraction_the_bound_would_be_broken() -> None:
    """The factor 1 + a kappa, which was accounted for once, is far below the exact law near the edge."""
    disclosure, setting = Algorithm1(2.0, "vector"), at(420.0)
    exact = line(420.0, setting, disclosure, cosine=-1.0)
    old = (1 + 200 * math.sqrt(1 / 3) * KAPPA) / 420.0
    true = exact.divergence(7500.0, 7499.0, 1.0)
    assert true > gaussian(2 * old, 1.0)
    assert own(disclosure, RING, setting) > 2 * old


def test_edge_where_the_mask_is_contracted_to_nothing_is_unbounded() -> None:
    """kappa_B = 1 at sigma 352.67 for the expected batch; there the bound says nothing."""
    disclosure = Algorithm1(2.0, "vector")
    assert disclosure.effect(RING, 0, EAVESDROPPER, at(340.0)).sigma == 0
    edge = disclosure.effect(RING, 0, EAVESDROPPER, at(352.67)).sigma
    assert edge < 1e-3  # epsilon in the millions: no claim
    assert disclosure.effect(RING, 0, EAVESDROPPER, at(1000.0)).sigma > 3


@pytest.mark.parametrize("listener", [*DEFAULT_THREATS, threat("neighbours:2")])
def test_bound_tends_to_the_exposure_as_the_model_grows(listener) -> None:
    """In a very large model neither the contraction nor the remainder is left."""
    disclosure, graph = (
        Algorithm1(1.5, "vector"),
        graphs.build("erdos-renyi:0.6", 7, "sinkhorn", 3),
    )
    limit = disclosure.exposure(graph, 2, listener)
    ratios = []
    for size in (10**6, 10**9, 10**12):
        setting = Setting(50.0, 300, size, 1e-11)
        ratios.append(
            setting.sigma / disclosure.effect(graph, 2, listener, setting).sigma
        )
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == pytest.approx(math.sqrt(limit), rel=1e-3)
    assert all(ratio >= math.sqrt(limit) for ratio in ratios)


def test_smaller_models_larger_batches_and_less_noise_are_never_better() -> None:
    disclosure, graph = Algorithm1(1.5, "vector"), graphs.complete(10)

    def effective(sigma: float, largest: int, size: int) -> float:
        return (
            disclosure.effect(
                graph, 0, EAVESDROPPER, Setting(sigma, largest, size, 1e-11)
            ).sigma
            / sigma
        )

    assert (
        effective(5, 300, 44_426)
        > effective(5, 300, 4_000)
        > effective(5, 300, 1_000)
        > 0
    )
    assert (
        effective(5, 300, 44_426)
        > effective(5, 600, 44_426)
        > effective(5, 1200, 44_426)
    )
    assert (
        effective(50, 300, 44_426)
        > effective(5, 300, 44_426)
        > effective(3, 300, 44_426)
    )
    assert (
        effective(5, 300, 20) == 0
    )  # 18 entries are too few for the length of an answer to be sure


def test_needed_sigma_is_the_smallest_that_has_the_effect() -> None:
    disclosure, graph = Algorithm1(1.5, "vector"), graphs.star(6)
    setting = Setting(1.0, 300, 44_426, 1e-11)
    for listener in (EAVESDROPPER, ONE_NEIGHBOUR, FINAL_MODEL):
        for effective in (0.3, 4.0, 60.0):
            sigma = disclosure.sigma(graph, 1, listener, setting, effective)
            assert (
                disclosure.effect(
                    graph, 1, listener, setting._replace(sigma=sigma)
                ).sigma
                >= effective
            )
            less = setting._replace(sigma=sigma * (1 - 1e-4))
            assert disclosure.effect(graph, 1, listener, less).sigma < effective


def test_more_listeners_are_never_promised_more() -> None:
    graph, disclosure = (
        graphs.build("erdos-renyi:0.6", 7, "sinkhorn", 3),
        Algorithm1(1.5, "vector"),
    )
    for setting in (Setting(8.0, 300, 44_426, 1e-11), Setting(3.0, 300, 300, 1e-11)):
        assert_ordered(graph, disclosure, setting)


def assert_ordered(graph, disclosure: Algorithm1, setting: Setting) -> None:
    for i in range(7):
        listeners = [
            threat(f"neighbours:{k}") for k in range(1, int(graph.degrees[i]) + 1)
        ]
        seen = [
            disclosure.effect(graph, i, one, setting).sigma
            for one in (FINAL_MODEL, *listeners, EAVESDROPPER)
        ]
        assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(seen))


def test_one_cosine_per_tensor_has_no_proof() -> None:
    disclosure = Algorithm1(1.5, "tensor")
    assert disclosure.effect(graphs.ring(5), 0, EAVESDROPPER, at(1e6)).sigma == 0


def test_kappa_is_the_lipschitz_constant_of_a_calibrated_gradient() -> None:
    """The Jacobian of x C(cos(x, g)) is [[C, -s], [0, C]] with s = C (1 - C) sin: its norm over all angles."""
    cosine = np.cos(np.linspace(0, np.pi, 100_001))
    c = 1 / (1 + np.exp(cosine))
    s = c * (1 - c) * np.sqrt(1 - cosine**2)
    norms = (s + np.sqrt(s**2 + 4 * c**2)) / 2
    assert 0.758 < norms.max() < KAPPA


@pytest.mark.parametrize("mu", [0.01, 0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("remainder", [0.0, 1e-4, 0.01, 0.3, 2.0])
def test_gaussian_with_a_remainder_is_dominated(mu: float, remainder: float) -> None:
    """E (1 - gamma exp(-L - R))_+ under a Gaussian loss L is at most the divergence of the dominating pair."""
    larger = dominating(mu, remainder)
    assert mu <= larger * (1 + 1e-9)
    loss = mu**2 / 2 + mu * np.linspace(-9, 9, 400_001) + remainder
    weight = np.exp(-(np.linspace(-9, 9, 400_001) ** 2) / 2) / math.sqrt(2 * math.pi)
    for gamma in (1.0, 1.01, 1.2, 2.0, 20.0, 1e4):
        value = np.trapezoid(
            np.maximum(1 - gamma * np.exp(-loss), 0) * weight,
            np.linspace(-9, 9, 400_001),
        )
        assert value <= gaussian(larger, gamma) + 1e-9
    if remainder == 0:
        assert larger == pytest.approx(mu)


def test_smallest_length_of_noise_holds() -> None:
    """Against the exact law of chi^2."""
    from scipy.stats import chi2

    for entries in (2, 50, 300, 5_000, 44_426, 2_000_000):
        for failure in (1e-3, 1e-12):
            assert chi2.cdf(shortest(entries, failure) ** 2, entries) <= failure * (
                1 + 1e-6
            )
    assert shortest(0, 1e-12) == 0


def test_highest_kappa_and_half_bracket_the_exposure() -> None:
    """1/2 is attained, 0.758 is the worst over all directions."""
    disclosure, graph = Algorithm1(1.5, "vector"), graphs.complete(10)
    half = replace(disclosure, kappa=0.5).exposure(graph, 0, EAVESDROPPER)
    assert half < disclosure.exposure(graph, 0, EAVESDROPPER)
    assert HIGHEST < KAPPA  # the largest coefficient is not the largest derivative


@pytest.mark.parametrize("mu", [1e-19, 1e-12, 1e-9, 0.99e-5])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.5])
def test_much_noise_leaves_no_less_than_it_should(mu: float, share: float) -> None:
    """A tiny mu was once lost in a probability of almost one half: 0, or too small."""
    found = dominating(mu, share * mu)
    assert found >= mu * (1 - 1e-9)
    # What it becomes does not depend on the size, up to higher orders.
    assert found / mu == pytest.approx(dominating(1e-3, share * 1e-3) / 1e-3, rel=1e-3)
