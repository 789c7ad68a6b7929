"""Repeated runs draw other numbers, and agents that work together know the noise they drew."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl.audit.randomness import OwnNoise, Renamed, at_home
from dpdl.privacy.noise import Reproducible, Secure


def paired(randomness, std: float, *where: int) -> torch.Tensor:
    row = torch.zeros(8)
    randomness.pair(row, std, 1.0, "link", *where, into=row)
    return row


@pytest.mark.parametrize("agent", [0, 1])
def test_link_noise_is_known_with_one_sign_whichever_end_drew_last(agent: int) -> None:
    drawn = paired(Reproducible(2), 1.0, 1, 0, 1)
    for std in (2.0, -2.0):
        overheard = OwnNoise(Reproducible(2), frozenset({agent}))
        assert torch.equal(
            paired(overheard, std, 1, 0, 1), paired(Reproducible(2), std, 1, 0, 1)
        )
        assert overheard.take()["link of their own"][0, 1] == pytest.approx(
            drawn, abs=1e-5
        )
        assert overheard.take() == {}


def test_secure_link_noise_is_known_exactly_to_either_end() -> None:
    overheard = OwnNoise(Secure(), frozenset({1}))
    added = paired(overheard, 2.0, 1, 0, 1)
    first = overheard.take()["link of their own"][0, 1]
    taken = paired(overheard, -2.0, 1, 0, 1)
    assert torch.equal(added, -taken)
    assert torch.equal(first, overheard.take()["link of their own"][0, 1])


def test_noise_of_links_between_others_stays_unknown() -> None:
    overheard = OwnNoise(Reproducible(1), frozenset({2}))
    paired(overheard, 1.0, 1, 0, 1)
    assert overheard.take() == {}


def test_a_rehearsal_repeats_itself_and_never_the_run() -> None:
    for randomness in (Reproducible(3), Secure(), Renamed(Reproducible(3), "run")):
        home = at_home(randomness, "home")
        assert home.repeatable
        numbers = [
            home.uniform(5, "batch", 1, 2),
            home.uniform(5, "batch", 1, 2),
            randomness.uniform(5, "batch", 1, 2),
        ]
        assert np.array_equal(numbers[0], numbers[1]) and not np.array_equal(
            numbers[0], numbers[2]
        )


def drawn(randomness, *where: int) -> torch.Tensor:
    row = torch.zeros(6)
    randomness.perturb(row, 1.0, "noise", *where, into=row)
    return row


def test_another_name_is_another_stream_of_batches_and_of_noise() -> None:
    one, same, other = (Renamed(Reproducible(1), name) for name in "aab")
    assert torch.equal(drawn(one, 1, 2, 3), drawn(same, 1, 2, 3))
    assert not torch.equal(drawn(one, 1, 2, 3), drawn(other, 1, 2, 3))
    assert not torch.equal(drawn(one, 1, 2, 3), drawn(Reproducible(1), 1, 2, 3))
    links = [paired(each, 1.0, 1, 0, 1) for each in (one, same, other)]
    assert torch.equal(links[0], links[1]) and not torch.equal(links[0], links[2])
    numbers = [each.uniform(4, "batch", 1).tolist() for each in (one, same, other)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert one.repeatable and not Renamed(Secure(), "a").repeatable


def test_noise_of_others_and_batches_stay_unknown() -> None:
    overheard = OwnNoise(Reproducible(1), frozenset({2}))
    assert torch.equal(drawn(overheard, 1, 0, 1), drawn(Reproducible(1), 1, 0, 1))
    assert overheard.take() == {}
    own = drawn(overheard, 1, 0, 2)
    batch = overheard.uniform(4, "batch", 1, 2)
    assert batch.tolist() == Reproducible(1).uniform(4, "batch", 1, 2).tolist()
    known = overheard.take()
    assert set(known) == {"noise of their own"}
    assert known["noise of their own"][0, 2] == pytest.approx(own)


def test_known_noise_is_in_one_order_whatever_the_order_of_the_draws() -> None:
    overheard = OwnNoise(Reproducible(1), frozenset({0, 1}))
    for i, j in ((2, 1), (0, 1), (1, 0)):
        drawn(overheard, 1, i, j)
    assert list(overheard.take()["noise of their own"]) == [(0, 1), (1, 0), (2, 1)]


def test_what_is_shown_of_it_holds_no_noise() -> None:
    overheard = OwnNoise(Secure(), frozenset({0, 1}))
    drawn(overheard, 1, 0, 1)
    assert repr(overheard) == "OwnNoise(Secure(), of 2 agents)"
