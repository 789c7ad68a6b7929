"""The game is played with the code that trains, and only agent i's records are in question."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.audit.ears import Ears
from dpdl.audit.game import NOBODY, Game
from dpdl.errors import InputError
from dpdl.privacy.noise import Randomness, Reproducible
from tests.audit.worlds import EAVESDROPPER, FINAL, game, question

RING = graphs.ring(3)
EARS = Ears(EAVESDROPPER, RING, 0)
SIZE = 30


def played(name: str = "dp-dpsgd", **more) -> Game:
    return game(question(name, RING, canaries=SIZE, rounds=2, **more), 1.0)


def presence(*numbers: int) -> np.ndarray:
    found = np.zeros(SIZE, np.bool_)
    found[list(numbers)] = True
    return found


@dataclass(frozen=True)
class First:
    """The first records take part, always."""

    count: int

    def draw(
        self, records: int, randomness: Randomness, round: int, agent: int
    ) -> np.ndarray:
        return np.arange(min(self.count, records))


def test_a_canary_moves_its_own_coordinate_and_no_other() -> None:
    """With the same noise, what differs is what the record did: -lr C / B in its coordinate."""
    one = played()
    without, alone = (
        list(one.play(present, EARS)) for present in (NOBODY, presence(4))
    )
    moved = (alone[1]["model"][0, 1] - without[1]["model"][0, 1]).double()
    assert float(moved[4]) == pytest.approx(-one.algorithm.eta(1) / SIZE, rel=1e-3)
    moved[4] = 0
    assert float(moved.abs().max()) < 1e-6


def test_what_is_heard_is_the_same_again_with_the_same_noise() -> None:
    first, again = (list(played().play(presence(1), EARS)) for _ in range(2))
    other = played().with_noise(Reproducible(9)).play(presence(1), EARS)
    for a, b, c in zip(first, again, other, strict=True):
        same = [torch.equal(row, b["model"][edge]) for edge, row in a["model"].items()]
        assert all(same)
        assert a["model"].keys() == c["model"].keys()
    assert not torch.equal(first[1]["model"][0, 1], c["model"][0, 1])


def test_one_record_more_is_one_record_more() -> None:
    """Without the record one place less is drawn from."""
    counts = []

    @dataclass(frozen=True)
    class Counting:
        def draw(
            self, records: int, randomness: Randomness, round: int, agent: int
        ) -> np.ndarray:
            if agent == 0:
                counts.append(records)
            return np.arange(records)

    one = replace(played(), drawing=Counting(), rounds=1)
    for inside in (False, True):
        list(one.play_one(inside, "none", EARS))
    assert counts == [SIZE - 1, SIZE]


@pytest.mark.parametrize(
    ("around", "pull"), [("none", 1), ("along", 3), ("against", -1)]
)
def test_a_crowd_pulls_beside_the_record(around: str, pull: int) -> None:
    """Two of the crowd take part, and the record, which is drawn last of three."""
    one = replace(
        played(records=3, batch=3), drawing=First(3), records=[3, 3, 3], rounds=2
    )
    silent = replace(one, drawing=First(0))
    with_all, with_none = (
        list(each.play_one(True, around, EARS)) for each in (one, silent)
    )
    moved = with_all[1]["model"][0, 1] - with_none[1]["model"][0, 1]
    assert float(moved[0]) == pytest.approx(-one.algorithm.eta(1) * pull / 3, abs=1e-5)


def test_models_are_heard_by_who_sees_models_only() -> None:
    (first, _) = played().play(presence(0), Ears(FINAL, RING, 0))
    assert set(first) == {"model"} and set(first["model"]) == {(0, 0), (1, 1), (2, 2)}


def test_a_rehearsal_has_another_size_and_other_noise() -> None:
    one = played()
    home = one.rehearsal("x", 7)
    assert (home.size, home.rounds, home.agent) == (7, one.rounds, one.agent)
    assert home.grad.randomness.repeatable
    assert home.grad.randomness != one.grad.randomness


def test_the_rate_is_that_of_the_attacked_agent() -> None:
    assert played(records=60, batch=15).rate == 0.25


def test_an_agent_that_sleeps_shows_nothing() -> None:
    """In `async-dpsgd` whose turn it is, is public."""
    one = replace(played("async-dpsgd"), rounds=30)
    turns = [one.shows(t) for t in range(1, 31)]
    assert 0 < sum(turns) < 30
    assert all(played().shows(t) for t in range(1, 31))


def test_more_canaries_than_records_are_refused() -> None:
    few = replace(played(records=30, batch=5), records=[10, 10, 10])
    with pytest.raises(InputError, match="at most the 10 records of the agent, not 30"):
        few.play(np.ones(SIZE, np.bool_), EARS)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(InputError, match="batch must be from 1 to the 29 records"):
        replace(played(), records=[29, 30, 30])
