"""The adversary that learns: its parts one by one.

What it achieves is in `test_every_algorithm`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.audit.ears import Ears
from dpdl.audit.learnt import Stack, due, learn, rows_of
from dpdl.privacy.threats import threat
from tests.audit.worlds import EAVESDROPPER, game, question

RING = graphs.ring(4)


# ---------------------------------------------------------------- what is on the stack
def test_what_an_agent_sends_to_all_is_one_row_and_what_it_answers_is_several() -> None:
    played = game(question("dpdl", RING, canaries=30, rounds=1), 1.0)
    ears = Ears(EAVESDROPPER, RING, 0)
    (heard,) = played.play(np.ones(30, np.bool_), ears)
    names = list(rows_of(heard, ears, 30))
    count = {channel: sum(name[0] == channel for name in names) for channel in heard}
    assert count == {"model": 4, "gradient": 8, "momentum": 4}


def test_of_too_many_rows_those_of_the_agent_are_kept() -> None:
    graph = graphs.complete(9)
    played = game(question("dpdl", graph, canaries=30, rounds=1), 1.0)
    ears = Ears(EAVESDROPPER, graph, 3)
    (heard,) = played.play(np.ones(30, np.bool_), ears)
    names = rows_of(heard, ears, 30)
    assert len(names) == 60
    assert {("gradient", 3, j) for j in range(9) if j != 3} <= set(names)
    assert {("gradient", j, 3) for j in range(9) if j != 3} <= set(names)


def test_signs_are_decoded() -> None:
    played = game(question("sign:dpdl-sound", RING, canaries=30, rounds=1), 1.0)
    ears = Ears(EAVESDROPPER, RING, 0)
    (heard,) = played.play(np.ones(30, np.bool_), ears)
    row = rows_of(heard, ears, 30)["gradient", 0, 1]
    assert (
        row.shape == (30,)
        and len(set(row.abs().tolist())) == 1
        and len(set(row.tolist())) == 2
    )


def test_a_stack_has_the_last_rounds_and_the_sum_of_those_before() -> None:
    stack = Stack(2, torch.tensor([[9.0, 9.0]]))
    for t in (1, 2, 3, 4):
        stack.add({("model", 0, 1): torch.tensor([float(t), 10.0 * t])})
    assert stack.rows().tolist() == [[9, 9], [1 + 2, 10 + 20], [3, 30], [4, 40]]
    assert stack.rows(1).tolist() == [[9], [3], [3], [4]]


@pytest.mark.parametrize(
    ("rounds", "memory"), [(1, 1), (5, 5), (5, 3), (40, 12), (7, 6)]
)
def test_every_round_is_judged_once_and_while_it_is_on_the_stack(
    rounds: int, memory: int
) -> None:
    judged = [(t, s) for t in range(1, rounds + 1) for s in due(t, rounds, memory)]
    assert sorted(s for _, s in judged) == list(range(1, rounds + 1))
    assert all(t - memory < s <= t for t, s in judged)


# ---------------------------------------------------------------- what is learnt
@pytest.mark.parametrize("rounds", [4, 24], ids=["all on the stack", "too many for it"])
def test_it_finds_every_gradient_of_a_tracker(rounds: int) -> None:
    """A tracker sums up differences of gradients.

    The stack's sums are what undoes it when rounds are many.
    """
    played = game(question("gradient-tracking", RING, canaries=100, rounds=rounds), 5.0)
    found = learn(played, Ears(EAVESDROPPER, RING, 0))
    assert (found.memory < rounds) == (rounds == 24)
    assert found.rounds == rounds
    assert 1 / found.mu == pytest.approx(5.0, rel=0.05)


def test_a_round_that_is_not_heard_any_more_does_not_show() -> None:
    """D-PSGD sends the gradient of a round with the models of the next."""
    found = learn(
        game(question("dp-dpsgd", RING, canaries=100, rounds=4), 5.0),
        Ears(EAVESDROPPER, RING, 0),
    )
    assert found.rounds == 3


def test_only_rounds_in_which_the_agent_is_active_are_judged() -> None:
    played = game(question("async-dpsgd", RING, canaries=100, rounds=12), 5.0)
    found = learn(played, Ears(EAVESDROPPER, RING, 0))
    active = sum(played.shows(t) for t in range(1, 13))
    assert 0 < active < 12
    assert sum(len(several) for several in found.combinations.values()) == active


def test_a_coalition_that_knows_the_noise_of_all_links_is_left_with_the_agents_own() -> (
    None
):
    graph, everybody = graphs.complete(3), threat("neighbours:2")
    played = game(question("decor", graph, canaries=100, rounds=3), 5.0)
    ears = Ears(everybody, graph, 0)
    assert 1 / learn(played, ears).mu == pytest.approx(5.0, rel=0.05)
    forgetful = replace(ears, own_noise=False)
    assert 1 / learn(played, forgetful).mu > 6
