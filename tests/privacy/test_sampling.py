"""Which records take part: at a public rate, or in a public number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.sampling import FixedSize, Poisson

BOTH = [Reproducible(3), Secure()]
KINDS = pytest.mark.parametrize("kind", [Poisson, FixedSize])


@pytest.mark.parametrize("randomness", BOTH)
def test_poisson_takes_every_record_at_the_public_rate(randomness) -> None:
    sizes, hits = [], np.zeros(50)
    for t in range(2_000):
        picked = Poisson(10, (50,) * 5).draw(50, randomness, t, 4)
        sizes.append(len(picked))
        hits[picked] += 1
    assert np.mean(sizes) == pytest.approx(10, abs=0.4)
    assert np.var(sizes) == pytest.approx(50 * 0.2 * 0.8, rel=0.2)
    assert np.abs(hits / 2_000 - 0.2).max() < 0.05


@pytest.mark.parametrize("randomness", BOTH)
def test_fixed_size_takes_exactly_b_different_records(randomness) -> None:
    hits = np.zeros(20)
    for t in range(1_000):
        picked = FixedSize(5, (20,)).draw(20, randomness, t, 0)
        assert len(set(picked)) == 5
        hits[picked] += 1
    assert np.abs(hits / 1_000 - 0.25).max() < 0.07


def test_one_record_more_leaves_the_draw_of_the_others_as_it_is() -> None:
    """The root of it: with a rate of B / len(records) the coins of all others would be read differently."""
    sampling = Poisson(20, (200,))
    for t in range(1, 50):
        before, after = (sampling.draw(n, Reproducible(5), t, 0) for n in (205, 206))
        assert before.tolist() == [k for k in after if k < 205]


def test_rate_is_that_of_the_declared_number_and_at_most_one() -> None:
    assert Poisson(20, (200, 10)).rate(0) == 0.1
    assert Poisson(20, (200, 10)).rate(1) == 1.0
    drawn = [
        len(Poisson(50, (100,)).draw(110, Reproducible(1), t, 0)) for t in range(400)
    ]
    assert np.mean(drawn) == pytest.approx(55, rel=0.03)


def test_a_share_is_the_rate_of_every_agent_and_b_that_of_the_mean_number() -> None:
    sampling = Poisson.at_rate(0.2, (100, 200, 30))
    assert sampling.batch_size == 22
    assert [sampling.rate(agent) for agent in range(3)] == [0.2] * 3
    for agent, records in enumerate((100, 200, 30)):
        drawn = [
            len(sampling.draw(records, Reproducible(1), t, agent)) for t in range(400)
        ]
        assert np.mean(drawn) == pytest.approx(0.2 * records, rel=0.05)
    assert Poisson.at_rate(0.001, (30,)).batch_size == 1


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan])
def test_a_share_beyond_all_records_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="rate must be above 0 and at most 1"):
        Poisson(8, (100,), share)


@KINDS
def test_a_draw_is_ascending_and_belongs_to_its_round_and_agent(kind) -> None:
    sampling, randomness = kind(20, (100, 100)), Reproducible(7)
    drawn = {
        (t, agent): tuple(sampling.draw(100, randomness, t, agent))
        for t in (1, 2)
        for agent in (0, 1)
    }
    assert len(set(drawn.values())) == 4
    for (t, agent), numbers in drawn.items():
        assert list(numbers) == sorted(set(numbers))
        assert set(numbers) <= set(range(100))
        assert tuple(sampling.draw(100, randomness, t, agent)) == numbers


@KINDS
def test_nothing_is_drawn_from_nothing(kind) -> None:
    assert kind(5, (10,)).draw(0, Reproducible(0), 1, 0).tolist() == []


def test_all_take_part_where_fewer_are_declared_than_a_batch_has() -> None:
    for kind in (Poisson, FixedSize):
        drawn = kind(50, (40,)).draw(40, Reproducible(0), 1, 0)
        assert drawn.tolist() == list(range(40))
        assert kind(50, (40,)).rate(0) == 1.0


def test_a_fixed_batch_has_its_size_however_many_records_there_are() -> None:
    """Those with the smallest coins: more records than declared make no larger batch."""
    for records in (20, 21, 400):
        assert len(FixedSize(5, (20,)).draw(records, Reproducible(2), 3, 0)) == 5


def test_what_is_public_shows_no_numbers_of_records() -> None:
    for kind in (Poisson, FixedSize):
        assert "977" not in repr(kind(10, (977, 20)))


@pytest.mark.parametrize("size", [0, -1, 2.5, math.nan, True])
def test_a_batch_size_that_is_none_does_not_construct(size) -> None:
    for kind in (Poisson, FixedSize):
        with pytest.raises(InputError, match="batch must be"):
            kind(size, (100,) * 5)
    for kind in (Poisson, FixedSize):
        with pytest.raises(InputError, match="records must be"):
            kind(8, (100, 0))
