"""How many Gaussian releases a round amounts to, against formulas that are written out here."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from dpdl import graph as graphs
from dpdl.algorithms.disclosure import (
    AS_EAVESDROPPER,
    BLOCK,
    Activated,
    CrossGradients,
    Disclosure,
    EveryRound,
    OwnGradients,
    Setting,
    exposure,
)
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, threat
from tests.reference.in_time import true_delta

STAR, RING = graphs.star(5), graphs.ring(6)
AT = Setting(sigma=3.0, largest=40, size=100, failure=1e-9)
THREATS = (EAVESDROPPER, ONE_NEIGHBOUR, FINAL_MODEL, threat("neighbours:2"))


@pytest.mark.parametrize("listener", THREATS, ids=str)
def test_own_gradients_are_as_many_as_are_released(listener) -> None:
    assert OwnGradients().exposure(STAR, 0, listener) == 1.0
    assert OwnGradients(2).exposure(STAR, 3, listener) == 2.0


@pytest.mark.parametrize("listener", THREATS, ids=str)
def test_cross_gradients_are_one_for_every_neighbour_and_oneself(listener) -> None:
    found = [CrossGradients().exposure(STAR, i, listener) for i in range(5)]
    assert found == [5.0, 2.0, 2.0, 2.0, 2.0]


def test_a_second_gradient_on_one_batch_depends_on_the_first() -> None:
    assert not OwnGradients().adaptive
    assert OwnGradients(2).adaptive
    assert not CrossGradients().adaptive


# ------------------------------------------------------------------ turns
def test_one_agent_is_active_in_a_round_and_pays_for_its_own() -> None:
    turns = Activated(7)
    rounds = 2 * BLOCK + 10
    active = [turns.agent(RING, t) for t in range(1, rounds + 1)]
    count = Counter(active)
    assert set(count) == set(range(6))
    for i in range(6):
        assert turns.rounds(RING, i, rounds) == count[i]
        assert turns.exposure(RING, i, EAVESDROPPER) == 1.0
    assert all(turns.active(RING, active[t - 1], t) for t in (1, BLOCK, BLOCK + 1))
    assert not turns.active(RING, (active[0] + 1) % 6, 1)


def test_turns_depend_on_the_seed_and_are_not_printed_with_it() -> None:
    def drawn(seed: int) -> list[int]:
        return [Activated(seed).agent(RING, t) for t in range(1, 40)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert "12345" not in repr(Activated(12345))


def test_in_no_rounds_nobody_pays() -> None:
    assert [Activated(0).rounds(RING, i, 0) for i in range(6)] == [0] * 6
    assert CrossGradients().rounds(RING, 0, 17) == 17
    assert CrossGradients().active(RING, 0, 17)


# ------------------------------------------------------------------ all of them
EVERY: list[Disclosure] = [
    OwnGradients(),
    OwnGradients(2),
    CrossGradients(),
    Activated(0),
]


@pytest.mark.parametrize("listener", THREATS, ids=str)
@pytest.mark.parametrize("disclosure", EVERY, ids=repr)
def test_effect_and_sigma_are_inverse(disclosure, listener) -> None:
    effect = disclosure.effect(STAR, 0, listener, AT)
    found = disclosure.exposure(STAR, 0, listener)
    assert effect.sigma == pytest.approx(AT.sigma / math.sqrt(found))
    back = disclosure.sigma(STAR, 0, listener, AT, effect.sigma)
    assert back == pytest.approx(AT.sigma)


@pytest.mark.parametrize("disclosure", EVERY, ids=repr)
def test_who_hears_less_learns_no_more(disclosure) -> None:
    heard = disclosure.exposure(STAR, 0, EAVESDROPPER)
    assert all(disclosure.exposure(STAR, 0, one) <= heard for one in THREATS)
    assert disclosure.worse(STAR, 0, 1, EAVESDROPPER) == (
        heard >= disclosure.exposure(STAR, 1, EAVESDROPPER)
    )


@pytest.mark.parametrize("disclosure", EVERY, ids=repr)
def test_every_exposure_has_a_phrase_that_says_how_it_is_derived(disclosure) -> None:
    for listener in THREATS:
        assert 10 < len(disclosure.proof(listener)) < 100
    assert disclosure.proof(EAVESDROPPER) != AS_EAVESDROPPER


class Unbounded(EveryRound):
    """Something about which nothing is proven; it counts how often it is asked."""

    asked = 0

    def exposure(self, graph, agent, listener) -> float:
        type(self).asked += 1
        return math.inf

    def proof(self, listener) -> str:
        return "nothing"


def test_what_is_unbounded_has_no_noise_and_is_computed_once() -> None:
    nothing = Unbounded()
    for _ in range(3):
        assert nothing.effect(RING, 0, EAVESDROPPER, AT).sigma == 0.0
        assert nothing.sigma(RING, 0, EAVESDROPPER, AT, 1.0) == math.inf
        assert exposure(nothing, RING, 0, EAVESDROPPER) == math.inf
    assert Unbounded.asked == 1


def test_rounds_whose_noise_is_correlated_do_not_compose_as_sampled_releases() -> None:
    """Why no algorithm here correlates noise over time: the accountant would claim too little."""
    for r, holds in ((0.0, True), (-0.5, False)):
        step = Step(math.sqrt(1 - r**2), batch=1, records=10)
        claimed = epsilon([(step, 2)], true_delta(0.1, r, 1.0))
        assert (claimed > 0.99) == holds
    assert true_delta(0.1, -0.5, 1.0) == pytest.approx(0.0042, abs=5e-5)
    assert claimed < 0.8
