"""Records are as hard to find as the proof says, and honest code stays below its epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, SoundDPDL
from dpdl.audit import (
    Game,
    attack_canaries,
    audit,
    clopper_pearson,
    gdp,
    honest_game,
    rehearse,
    try_one,
)
from dpdl.audit.algebra import Derived, derive
from dpdl.audit.ears import Ears, Heard
from dpdl.audit.learnt import learn
from dpdl.audit.measure import better
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import UNKNOWN
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.sampling import FixedSize
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat, threat
from tests.audit.worlds import EAVESDROPPER, FINAL, ONE, game, question

RING, UNEVEN, COMPLETE = (
    graphs.ring(5),
    graphs.build("erdos-renyi:0.6", 6, "sinkhorn", 3),
    graphs.complete(5),
)


def attainable(q: PrivacyModel, sigma: float, listener: Threat) -> float:
    """sigma_eff that an attack can reach: exactly the proven one, or that with kappa = 1/2."""
    algorithm = q.algorithm
    if isinstance(algorithm, DPDL):
        return sigma / math.sqrt(
            replace(algorithm.disclosure, kappa=0.5).exposure(q.graph, 0, listener)
        )
    return sigma / math.sqrt(algorithm.disclosure.exposure(q.graph, 0, listener))


def theorem1(q: PrivacyModel) -> Theorem1:
    g = q.graph
    return Theorem1(
        len(g),
        int(g.sizes.min()),
        g.w_min,
        g.w_max,
        min(q.records),
        q.batch,
        q.rounds,
        q.delta,
        1.5,
    )


MATCHES = [
    ("dpdl-sound", RING, EAVESDROPPER),
    ("dpdl-sound", COMPLETE, EAVESDROPPER),
    ("dpdl-sound", UNEVEN, EAVESDROPPER),
    ("dpdl", RING, EAVESDROPPER),
    ("dpdl", COMPLETE, EAVESDROPPER),
    ("dpdl", UNEVEN, EAVESDROPPER),
    ("dpdl", COMPLETE, ONE),
    ("dpdl", COMPLETE, threat("neighbours:3")),
    ("dpdl", RING, threat("neighbours:2")),
    ("dpdl", RING, FINAL),  # W can be inverted: models show all that momenta show
]


@pytest.mark.parametrize(("name", "graph", "listener"), MATCHES, ids=str)
def test_measured_distinguishability_is_one_over_sigma_eff(
    name: str, graph: Graph, listener: Threat
) -> None:
    sigma = 8.0
    q = question(name, graph, canaries=1600, rounds=12)
    scores = attack_canaries(game(q, sigma), listener, seed=3)
    expected = attainable(q, sigma, listener)
    assert 1 / scores.mu == pytest.approx(expected, rel=0.03)
    measured = scores.sigma_eff(0.99)
    assert measured.low < expected < measured.high
    assert measured.high / measured.low < 1.6


HONEST = [
    ("dpdl-sound", COMPLETE, EAVESDROPPER, 1.0),
    ("dpdl-sound", RING, FINAL, 1.0),
    ("dpdl", COMPLETE, EAVESDROPPER, 1.0),
    ("dpdl", COMPLETE, ONE, 1.0),
    ("dpdl-sound", COMPLETE, EAVESDROPPER, 0.2),
    ("dpdl", COMPLETE, EAVESDROPPER, 0.2),
]


@pytest.mark.parametrize(("name", "graph", "listener", "rate"), HONEST, ids=str)
def test_honest_code_is_not_refuted(
    name: str, graph: Graph, listener: Threat, rate: float
) -> None:
    q = question(
        name,
        graph,
        canaries=1000,
        batch=int(1000 * rate),
        rounds=20 if rate < 1 else 4,
        delta=1e-3,
    )
    sigma = 60.0 if name == "dpdl" else 6.0  # its bound begins with more noise
    result = audit(q.with_noise(sigma), theorem1(q), listener, seed=3)
    assert result.proven.bounded
    assert result.certified == result.by_counting.epsilon <= result.proven.value
    assert not result.refutes_proof
    assert (result.sigma_eff_measured is None) == (rate < 1)
    if name == "dpdl-sound" and listener == EAVESDROPPER and rate == 1:
        assert result.by_gdp.epsilon > 0.25 * result.proven.value


def test_secure_noise_passes_too() -> None:
    q = question("dpdl-sound", COMPLETE, canaries=1000)
    noisy = q.with_noise(4.0)
    result = audit(noisy, theorem1(q), EAVESDROPPER, randomness=Secure())
    assert 0 < result.certified <= result.proven.value


def test_calibrated_noise_gives_away_what_equal_noise_does() -> None:
    q = question("dpdl-sound", COMPLETE, canaries=1200, rounds=12)
    other = replace(
        q,
        algorithm=SoundDPDL(lr=0.05, momentum=0.7, alpha=1.5, noise_split="calibrated"),
    )
    mu = rehearse(game(other, 12.0), Ears(EAVESDROPPER, COMPLETE, 0)).mu
    assert 1 / mu == pytest.approx(attainable(q, 12.0, EAVESDROPPER), rel=0.03)


@pytest.mark.parametrize("certify", [clopper_pearson, gdp])
def test_a_null_audit_certifies_nothing(certify) -> None:
    """Coins say who is in, but nobody is: the adversary hears noise."""
    q = question("dpdl", COMPLETE, canaries=500)
    played = game(q, 2.0)
    coins, ears = (
        generator(5, "coins").random(500) < 0.5,
        Ears(EAVESDROPPER, COMPLETE, 0),
    )
    scores = rehearse(played, ears).scores(
        played, played.play(np.zeros(0, np.bool_), ears), 1.0
    )
    assert certify(scores[coins], scores[~coins], 1e-5, 0.95).epsilon == 0


class Deaf:
    """An adversary that makes nothing of what it hears."""

    mu, rounds = 0.0, 0

    def scores(self, game: Game, played: Iterable[Heard], rate: float) -> np.ndarray:
        return np.zeros(game.size)


def test_the_adversary_is_the_one_that_does_best_at_home() -> None:
    """One that knows the algebra is as good as one that learns.

    With a wrong algebra it is not chosen.
    """
    played = game(question("dpdl-sound", COMPLETE, canaries=200, rounds=2), 3.0)
    ears = Ears(EAVESDROPPER, COMPLETE, 0)
    derived, learnt, deaf = derive(played, ears), learn(played, ears), Deaf()
    assert derived
    assert better(played, ears, derived, deaf) is derived
    assert better(played, ears, deaf, derived) is derived
    assert better(played, ears, deaf, learnt) is learnt
    assert better(played, ears, learnt, deaf) is learnt
    assert isinstance(rehearse(played, ears), Derived)


def test_long_games_of_other_algorithms_are_attacked_too() -> None:
    """More rounds than a stack holds, under sampling."""
    q = question(
        "dp-dpsgd",
        graphs.ring(4),
        canaries=400,
        records=800,
        batch=400,
        rounds=40,
        delta=0.1,
    )
    result = audit(q.with_noise(2.0), None, EAVESDROPPER, seed=1)
    assert result.claimed == UNKNOWN and not result.refutes_claim
    assert 0.2 * result.proven.value < result.certified <= result.proven.value
    assert result.verdict.startswith("The attack certifies epsilon >= ")


def test_the_same_seed_gives_the_same_scores() -> None:
    played = game(question("dpdl", RING, canaries=100, batch=30), 1.0)
    one, two = (attack_canaries(played, EAVESDROPPER, seed=4) for _ in range(2))
    assert np.array_equal(one.inside, two.inside) and np.array_equal(
        one.outside, two.outside
    )


def test_what_cannot_be_audited_is_refused() -> None:
    q = question("dpdl", RING, canaries=100)
    with pytest.raises(InputError, match="sigma"):
        honest_game(q, 0, Reproducible(0))
    with pytest.raises(InputError, match="at least 20"):
        honest_game(replace(q, size=3), 0, Reproducible(0))
    with pytest.raises(InputError, match="canaries must be"):
        attack_canaries(
            game(question("dpdl", RING, canaries=100, records=50), 1.0), EAVESDROPPER
        )
    turns = question("async-dpsgd", RING, canaries=100).with_noise(1.0)
    with pytest.raises(InputError, match="drawn from the seed"):
        honest_game(turns, 0, Secure())
    rough = question("decor", RING, canaries=100, correlation=999.0).with_noise(1.0)
    with pytest.raises(InputError, match=r"to 90\.5 .*, not 999"):
        honest_game(rough, 0, Secure())
    with pytest.raises(InputError, match="trials must be at least"):
        try_one(game(q, 1.0), EAVESDROPPER, 5, "none")
    with pytest.raises(InputError, match="Unknown crowd 'agains'"):
        try_one(game(q, 1.0), EAVESDROPPER, 20, "agains")
    mechanism = replace(q.mechanism, sampling=FixedSize(100, q.records))
    fixed = replace(q, mechanism=mechanism, relation="replace-one")
    with pytest.raises(InputError, match="add-remove"):
        game(fixed, 1.0)
