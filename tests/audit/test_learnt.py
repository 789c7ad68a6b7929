"""The adversary that learns: its parts one by one. What it achieves is in `test_every_algorithm`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.audit.combine import Rehearsed, combine, covariance, least_squares
from dpdl.audit.ears import Ears
from dpdl.audit.learnt import Stack, due, learn, rows_of
from dpdl.privacy.threats import threat
from tests.audit.worlds import EAVESDROPPER, game, question

RING = graphs.ring(4)


def noise(rows: int, samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, samples))


# ---------------------------------------------------------------- weights
def test_rows_are_weighed_by_the_noise_they_have() -> None:
    rows, signal = (
        noise(3, 40_000) * np.array([[1.0], [2.0], [4.0]]),
        np.array([1.0, 1.0, 2.0]),
    )
    rehearsed = Rehearsed(covariance(rows), signal)
    found = combine(rehearsed, rehearsed)
    assert found.mu == pytest.approx(math.sqrt(1 + 1 / 4 + 1 / 4), rel=0.02)
    assert found(rows).std() == pytest.approx(1, rel=0.02)
    assert found.weights / found.weights[0] == pytest.approx(
        [1, 1 / 4, 1 / 8], rel=0.1, abs=0.02
    )


def test_shared_noise_is_subtracted() -> None:
    rehearsed = Rehearsed(
        covariance(np.repeat(noise(1, 5_000), 2, axis=0)), np.array([1.0, 0.0])
    )
    assert combine(rehearsed, rehearsed).mu > 1e3


def test_how_well_weights_do_is_judged_by_another_rehearsal() -> None:
    """As many samples as rows fit too well: what was learnt promises far more than 1, which is all there is."""
    signal = np.eye(50)[0]
    learnt, tried = (
        Rehearsed(covariance(noise(50, samples, samples)), signal)
        for samples in (60, 20_000)
    )
    assert combine(learnt, learnt).mu > 1.5
    assert combine(learnt, tried).mu < 1


def test_a_signal_that_another_rehearsal_does_not_confirm_counts_for_nothing() -> None:
    found = combine(
        Rehearsed(np.eye(2), np.array([1.0, 0.0])),
        Rehearsed(np.eye(2), np.array([-1.0, 0.0])),
    )
    assert found.mu == 0 and not found.weights.any()


def test_scores_are_log_likelihood_ratios_of_a_sampled_gaussian() -> None:
    rehearsed = Rehearsed(np.eye(1), np.array([0.7]))
    found, row = combine(rehearsed, rehearsed), np.linspace(-3, 4, 9)[None]
    s, mu = found(row), found.mu
    assert mu == pytest.approx(0.7)
    ratio = np.exp(-((s - mu) ** 2) / 2) / np.exp(-(s**2) / 2)
    assert np.exp(found.score(row, 0.3)) == pytest.approx(0.7 + 0.3 * ratio)
    assert np.exp(found.score(row, 1.0)) == pytest.approx(ratio)


def test_least_squares_finds_what_each_cause_does() -> None:
    truth, causes = noise(4, 3, 1), noise(3, 100, 2)
    causes[1] = 0
    found = least_squares(truth @ causes, causes)
    assert found[:, [0, 2]] == pytest.approx(truth[:, [0, 2]], rel=1e-6)
    assert found[:, 1] == pytest.approx(0)


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
    """A tracker sums up differences of gradients; the stack's sums are what undoes it when rounds are many."""
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
