"""What a plan costs: exposures, epsilons and the noise that an epsilon needs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, AsyncDPSGD, Concord, SoundDPDL
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.clip import PerChunk, PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.threats import (
    DEFAULT_THREATS,
    EAVESDROPPER,
    FINAL_MODEL,
    ONE_NEIGHBOUR,
    threat,
)


def question(kind: type = SoundDPDL, graph=None, records=6000, **more) -> PrivacyModel:
    graph = graph or graphs.complete(10)
    sizes = [records] * len(graph) if isinstance(records, int) else records
    settings = {"rounds": 1000, "delta": 1e-5, "size": 44_426} | more
    batch, clip = settings.pop("batch", 216), settings.pop("clip", PerSample(1.0))
    mechanism = Mechanism(clip, Poisson(batch, tuple(sizes)), 0.0)
    algorithm = kind(lr=0.1, momentum=0.7, alpha=1.5)
    return PrivacyModel(algorithm, graph, mechanism, **settings)


# ------------------------------------------------------------------- exposure
@pytest.mark.parametrize(("target", "sigma"), [(0.25, 48.0), (0.5, 25.6), (1.0, 13.8)])
def test_dpdl_sound_on_the_complete_graph(target: float, sigma: float) -> None:
    for listener in DEFAULT_THREATS:
        assert question().needed_sigma(target, listener) == pytest.approx(
            sigma, abs=0.06
        )


@pytest.mark.parametrize(("target", "sigma"), [(0.25, 86.6), (0.5, 46.25), (1.0, 25.0)])
def test_dpdl_against_an_eavesdropper_on_the_complete_graph(
    target: float, sigma: float
) -> None:
    assert question(DPDL).needed_sigma(target, EAVESDROPPER) == pytest.approx(
        sigma, rel=2e-3
    )


def test_theorem_1_overstates_the_protection_many_times() -> None:
    proven = [
        question(DPDL).with_noise(sigma).worst(EAVESDROPPER)
        for sigma in (5.79, 2.89, 1.45)
    ]
    assert 4.8 < proven[0] < 8
    assert 21 < proven[1] < 54
    assert 150 < proven[2] < 520


def test_eavesdropper_formula_written_out_for_an_irregular_graph() -> None:
    """(m - 1) + (1 + alpha N sqrt(w_ii) kappa)^2 for every agent of a star."""
    graph, algorithm = graphs.star(5), DPDL(0.1, 0.7, 1.5)
    for i in range(5):
        expected = (
            graph.sizes[i] - 1 + (1 + 1.5 * 5 * math.sqrt(graph.W[i, i]) * 0.7581) ** 2
        )
        assert algorithm.disclosure.exposure(graph, i, EAVESDROPPER) == pytest.approx(
            expected, rel=1e-12
        )


def test_coalition_formula_written_out_for_a_ring() -> None:
    """Ring of 5, w = 1/3, alpha 2: agent 0 against its neighbour 1, and against somebody who sees models only."""
    graph, algorithm = graphs.ring(5), DPDL(0.1, 0.7, 2.0)
    own = (math.sqrt(3) + 2 * 5 * 0.7581) ** 2
    against_one = (
        1 + own / (3 + 3) + 3 / (3 + 3 + 3)
    )  # agent 4's noise stays whole: its neighbours are 3, 4, 0
    assert algorithm.disclosure.exposure(graph, 0, ONE_NEIGHBOUR) == pytest.approx(
        against_one, rel=1e-12
    )
    models_only = own / 9 + 3 / 9 + 3 / 9
    assert algorithm.disclosure.exposure(graph, 0, FINAL_MODEL) == pytest.approx(
        models_only, rel=1e-12
    )


def test_more_listeners_never_see_less() -> None:
    graph, algorithm = (
        graphs.build("erdos-renyi:0.6", 7, "sinkhorn", 3),
        DPDL(0.1, 0.7, 1.5),
    )
    for i in range(7):
        around = int(graph.degrees[i])
        seen = [
            algorithm.disclosure.exposure(graph, i, threat(f"neighbours:{k}"))
            for k in range(1, around + 1)
        ]
        assert seen == sorted(seen)
        assert algorithm.disclosure.exposure(graph, i, FINAL_MODEL) <= seen[0]
        assert seen[-1] == pytest.approx(
            algorithm.disclosure.exposure(graph, i, EAVESDROPPER)
        )


def test_too_little_noise_for_the_self_gradient_is_unbounded_and_never_planned() -> (
    None
):
    """The noise that a target asks for is far from the edge where the bound ends: there it would cost millions."""
    q = question(DPDL, graphs.ring(10), size=2_000)
    edge = (
        1.5 * 10 * (1 / 3) ** 1.5 * 216 / (4 * math.sqrt(2_000))
    )  # alpha N w^1.5 B / (4 sqrt(d))
    assert math.isinf(q.with_noise(edge).worst(EAVESDROPPER))
    for listener in DEFAULT_THREATS:
        sigma = q.needed_sigma(30.0, listener)
        assert sigma > 2 * edge
        assert q.with_noise(sigma).worst(listener) == pytest.approx(30.0, rel=5e-3)
        assert q.with_noise(sigma).worst(listener) <= 30.0


def test_a_model_with_too_few_parameters_has_no_proof_for_algorithm_1() -> None:
    q = question(DPDL, size=2)
    assert math.isinf(q.with_noise(1e6).worst(EAVESDROPPER))
    assert math.isinf(q.needed_sigma(8.0, EAVESDROPPER))


# -------------------------------------------------------------------- planning
def test_sigma_then_epsilon_is_a_round_trip_for_every_threat_and_odd_sizes() -> None:
    graph, target = graphs.star(5), 40.0  # so large that the accountant is fast
    for kind in (DPDL, SoundDPDL):
        q = question(kind, graph, [900, 1200, 700, 5000, 800], batch=64, rounds=50)
        for listener in (EAVESDROPPER, threat("neighbours:2")):
            sigma = q.needed_sigma(target, listener)
            everybody = [q.with_noise(sigma).epsilon(i, listener) for i in range(5)]
            assert max(everybody) == q.with_noise(sigma).worst(listener)
            assert max(everybody) == pytest.approx(target, rel=5e-3)
            assert max(everybody) <= target


def test_clipping_anything_but_samples_has_no_guarantee() -> None:
    q = question(clip=PerChunk(1.0, 4))
    assert math.isinf(q.with_noise(100.0).worst(EAVESDROPPER))
    assert math.isinf(q.needed_sigma(8.0, EAVESDROPPER))


def test_noise_split_keeps_the_guarantee_and_lowers_the_noise_of_the_update() -> None:
    graph = graphs.build("star", 6, "sinkhorn", 2)
    algorithm = SoundDPDL(0.1, 0.7, 1.5, noise_split="calibrated")
    factors = algorithm.noise_factors(graph)
    assert factors is not None
    for j in range(6):
        around = graph.neighbours(j)
        assert sum(1 / factors[i, j] ** 2 for i in around) == pytest.approx(
            len(around), rel=1e-12
        )
    # Variance that reaches the updates: sum over edges of (weight of that noise)^2 sigma_ij^2.
    edges = [(i, j) for j in range(6) for i in graph.neighbours(j)]
    weight = {
        (i, j): graph.W[i, j] ** -0.5 + (1.5 * 6 / 2 if i == j else 0) for i, j in edges
    }
    split = sum(weight[edge] ** 2 * factors[edge] ** 2 for edge in edges)
    assert split < sum(value**2 for value in weight.values())
    assert SoundDPDL(0.1, 0.7, 1.5).noise_factors(graph) is None


def test_an_agent_without_a_proof_makes_the_whole_graph_unbounded() -> None:
    """Agents differ in w_ii, so a sigma may be enough for some and too little for others."""
    q = question(DPDL, graphs.build("erdos-renyi", 10), rounds=100)
    between = 0.6
    everybody = [q.with_noise(between).epsilon(i, FINAL_MODEL) for i in range(10)]
    assert math.inf in everybody
    assert min(everybody) < math.inf
    assert math.isinf(q.with_noise(between).worst(FINAL_MODEL))


def test_one_cosine_per_tensor_has_no_proof_for_algorithm_1() -> None:
    assert math.isinf(
        DPDL(0.1, 0.7, 1.5, cosine="tensor").disclosure.exposure(
            graphs.ring(5), 0, EAVESDROPPER
        )
    )
    assert (
        SoundDPDL(0.1, 0.7, 1.5, cosine="tensor").disclosure.exposure(
            graphs.ring(5), 0, EAVESDROPPER
        )
        == 3
    )


# ----------------------------------------------------- agents that are not active in every round
def ticks(records: list[int], rounds: int) -> PrivacyModel:
    mechanism = Mechanism(PerSample(1.0), Poisson(8, tuple(records)), 0.0)
    algorithm = AsyncDPSGD(lr=0.1, seed=0)
    return PrivacyModel(algorithm, graphs.ring(5), mechanism, rounds, 1e-5, 77)


def test_an_agent_that_is_never_active_needs_no_noise() -> None:
    q = ticks([100, 100, 50, 100, 100], 10)
    active = [q.algorithm.disclosure.rounds(q.graph, i, 10) for i in range(5)]
    assert active[2] == 0 and sum(active) == 10
    sigma = q.needed_sigma(1.0, EAVESDROPPER)
    assert q.with_noise(sigma).worst(EAVESDROPPER) == pytest.approx(1.0, rel=0.005)
    assert q.with_noise(sigma).epsilon(2, EAVESDROPPER) == 0


def test_the_worst_agent_so_far_is_looked_for_among_all() -> None:
    q = ticks([100, 90, 100, 80, 100], 60)
    for rounds in (1, 3, 10, 60):
        assert q.with_noise(2.0).worst(EAVESDROPPER, rounds) == max(
            q.with_noise(2.0).epsilon(i, EAVESDROPPER, rounds) for i in range(5)
        )


def test_a_run_whose_agents_may_conspire_anywhere_says_what_two_half_and_all_others_learn() -> (
    None
):
    graph = graphs.ring(10)
    model = replace(question(graph=graph), algorithm=Concord())
    coalitions = [threat(f"neighbours:{k}") for k in (2, 5, 9)]
    assert model.listeners(EAVESDROPPER) == [*DEFAULT_THREATS, *coalitions]
    assert model.listeners(threat("neighbours:3"))[-1].neighbours == 3
    found = [model.exposure(0, one) for one in (ONE_NEIGHBOUR, *coalitions)]
    assert found == sorted(found) and found[-1] == 1
    assert question(graph=graph).listeners(ONE_NEIGHBOUR) == list(DEFAULT_THREATS)


@pytest.mark.parametrize(("relation", "moved"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize(
    ("listener", "honest"),
    [("eavesdropper", 5), ("final-model", 5), ("neighbours:2", 3), ("neighbours:4", 1)],
)
def test_a_centre_costs_what_its_own_noise_and_that_of_honest_pairs_hide(
    relation: str, moved: int, listener: str, honest: int
) -> None:
    """One Gaussian release of all records, in closed form, whatever the number of records."""
    records, graph = (600, 700, 650, 5000, 100), graphs.ring(5)
    rounds = Mechanism(PerSample(1.0), Poisson.at_rate(0.2, records), 5.0)
    model = PrivacyModel(Concord(), graph, rounds, 10, 1e-5, 1000, relation)
    made = model.with_centre(20.0, threat("neighbours:2"))
    c = Concord().c(graph)
    covariance = np.eye(honest) * (1 + c * c * honest) - c * c
    exposure = np.linalg.inv(covariance)[0, 0]
    mu = moved * math.sqrt(exposure) / made.centre.noise_multiplier
    for agent in (0, 4):
        found = made.epsilon(agent, threat(listener), 0)
        assert found == pytest.approx(gaussian_epsilon(mu, 1e-5), rel=1e-3)
    if (listener, relation) == ("neighbours:2", "add-remove"):
        assert mu == pytest.approx(1 / 20)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Of a shift by mu under noise of deviation 1."""

    def spent(e: float) -> float:
        above, below = norm.cdf(mu / 2 - e / mu), norm.cdf(-mu / 2 - e / mu)
        return float(above - math.exp(e) * below - delta)

    return float(brentq(spent, 0, 50))
