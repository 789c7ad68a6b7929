"""How many Gaussian releases a round amounts to, against formulas that are written out here."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms.disclosure import (
    AS_EAVESDROPPER,
    BLOCK,
    MOST_COALITIONS,
    Activated,
    CrossGradients,
    Disclosure,
    EveryRound,
    OwnGradients,
    PairedNoise,
    Setting,
    exposure,
)
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, threat

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


# ------------------------------------------------------------------ noise that cancels
def test_without_correlation_an_agent_has_its_own_noise_alone() -> None:
    for listener in THREATS:
        assert PairedNoise(0.0).exposure(RING, 0, listener) == pytest.approx(1.0)


def test_two_agents_hide_in_each_other_by_hand() -> None:
    """(I + c^2 L)^-1 of one link: (1 + c^2) / (1 + 2 c^2)."""
    pair, c = graphs.ring(2), 3.0
    found = PairedNoise(c).exposure(pair, 0, EAVESDROPPER)
    assert found == pytest.approx((1 + c**2) / (1 + 2 * c**2))
    assert PairedNoise(c).exposure(pair, 0, ONE_NEIGHBOUR) == 1.0


def test_much_correlation_hides_an_agent_among_all_that_are_linked() -> None:
    assert PairedNoise(1e4).exposure(RING, 0, EAVESDROPPER) == pytest.approx(
        1 / 6, rel=1e-3
    )


def test_a_coalition_takes_the_secrets_of_its_links_away() -> None:
    """On a ring without agent 1, agent 0 is the end of a path of five."""
    c = 2.0
    path = graphs.path(5)
    links = (path.W > 0).astype(float)
    np.fill_diagonal(links, 0)
    laplacian = np.diag(links.sum(1)) - links
    wanted = np.linalg.inv(np.eye(5) + c**2 * laplacian)[0, 0]
    assert PairedNoise(c).exposure(RING, 0, ONE_NEIGHBOUR) == pytest.approx(wanted)
    assert PairedNoise(c).exposure(RING, 0, threat("neighbours:2")) == 1.0


def test_more_coalitions_than_can_be_tried_count_as_all_neighbours() -> None:
    wide = graphs.complete(20)
    assert math.comb(19, 9) > MOST_COALITIONS > math.comb(19, 2)
    assert PairedNoise(3.0).exposure(wide, 0, threat("neighbours:9")) == 1.0
    assert PairedNoise(3.0).exposure(wide, 0, threat("neighbours:2")) < 0.2


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
    PairedNoise(2.0),
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
    if not isinstance(disclosure, PairedNoise):  # whose neighbours know secrets
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
