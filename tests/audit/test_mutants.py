"""Mistakes that an audit is for: each must certify more, by counting, than is proven for the code
as it should be.

Half the noise, for every algorithm, is in `test_every_algorithm`; mistakes that only one record
among many others can show are in `test_trials`. All games have the rate 1. Settings leave the
honest code far below, so that a mistake has room to show with some thousand canaries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from torch import Tensor

from dpdl.audit import Game, attack_canaries, clopper_pearson
from dpdl.audit.measure import honest_game
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.clip import PerChunk, Unclipped
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.threats import Threat
from tests.audit.worlds import EAVESDROPPER, FINAL, ONE, game, leading, question

CONFIDENCE, DELTA, CANARIES = 0.95, 0.05, 2000


@dataclass(frozen=True)
class Shared:
    """Noise of a round from one stream, whatever the edge."""

    inside: Randomness
    repeatable = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        return self.inside.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        self.inside.perturb(row, std, purpose, where[0], into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        self.inside.pair(row, std, own, purpose, where[0], into=into)


def setting(name: str, rounds: int = 2, alpha: float = 1.5) -> PrivacyModel:
    return question(name, canaries=CANARIES, rounds=rounds, delta=DELTA, alpha=alpha)


def certified(played: Game, listener: Threat = EAVESDROPPER) -> float:
    scores = attack_canaries(played, listener, seed=1)
    return clopper_pearson(scores.inside, scores.outside, DELTA, CONFIDENCE).epsilon


@pytest.mark.parametrize("name", ["dpdl", "dpdl-sound"])
@pytest.mark.parametrize("listener", [EAVESDROPPER, ONE], ids=str)
def test_a_shared_stream_is_caught(name: str, listener: Threat) -> None:
    sigma, q = 10.0, setting(name)
    honest = game(q, sigma)
    mutant = replace(
        honest, grad=replace(honest.grad, randomness=Shared(Reproducible(1)))
    )
    assert certified(mutant, listener) > leading(q, sigma, listener)


def test_the_un_noised_self_gradient_accounted_as_sound_is_caught() -> None:
    """The very difference between the two algorithms."""
    sigma, sound, literal = (
        6.0,
        setting("dpdl-sound", alpha=8.0),
        setting("dpdl", alpha=8.0),
    )
    proven = sound.with_noise(sigma).epsilon(0, EAVESDROPPER)
    assert certified(game(sound, sigma)) <= proven < certified(game(literal, sigma))


@pytest.mark.parametrize(
    "clip", [PerChunk(1.0, 1), PerChunk(1.0, 4), Unclipped()], ids=str
)
@pytest.mark.parametrize("listener", [EAVESDROPPER, FINAL], ids=str)
def test_clipping_of_means_accounted_as_clipping_of_records_is_caught(
    clip, listener: Threat
) -> None:
    sigma, q = 10.0, setting("dpdl-sound", rounds=3)
    honest = game(q, sigma)
    mechanism = replace(honest.grad.mechanism, clip=clip)
    mutant = replace(honest, grad=replace(honest.grad, mechanism=mechanism))
    proven = q.with_noise(sigma).epsilon(0, listener)
    assert certified(honest, listener) <= proven < certified(mutant, listener)


@dataclass(frozen=True)
class Unlinked:
    """Noise that is missing on all links."""

    inside: Randomness
    repeatable = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        return self.inside.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        self.inside.perturb(row, std, purpose, *where, into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        into.copy_(row)


@pytest.mark.parametrize("listener", [EAVESDROPPER, ONE], ids=str)
def test_secure_noise_of_links_is_enough_and_its_absence_is_caught(
    listener: Threat,
) -> None:
    q = question("decor", canaries=CANARIES, rounds=5, delta=DELTA)
    sigma = 1.0
    proven = q.with_noise(sigma).epsilon(0, listener)
    honest = honest_game(q.with_noise(sigma), 0, Secure())
    assert 0 < certified(honest, listener) <= proven
    mutant = honest.with_noise(Unlinked(Reproducible(1)))
    assert certified(mutant, listener) > proven
