from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.audit.algebra import (
    Links,
    Listener,
    derivable,
    derive,
    listener,
    public_facts,
)
from dpdl.audit.ears import Ears
from dpdl.audit.game import Game
from dpdl.graph import Graph
from dpdl.privacy.threats import Threat, threat
from tests.audit.worlds import EAVESDROPPER, FINAL, ONE, game, question

RING, UNEVEN = graphs.ring(5), graphs.build("erdos-renyi:0.6", 6, "sinkhorn", 3)
CANARIES, ROUNDS = 50, 4
PRESENT = np.arange(CANARIES) % 2 == 0


def rows_of(
    played: Game, who: Threat, **otherwise: float
) -> tuple[list[Tensor], Listener]:
    """What the adversary computes in every round, with every second canary in."""
    ears = Ears(who, played.graph, played.agent)
    known = listener(ears, replace(public_facts(played), **otherwise))
    return [known.listen(heard) for heard in played.play(PRESENT, ears)], known


@pytest.mark.parametrize("graph", [RING, UNEVEN], ids=["ring", "uneven"])
def test_an_eavesdropper_recovers_the_perturbed_self_gradient_of_dpdl_sound_exactly(
    graph: Graph,
) -> None:
    """Slow twin: the self-gradient, which never leaves, is computed again from the seed."""
    played = game(question("dpdl-sound", graph, canaries=CANARIES, rounds=ROUNDS), 3.0)
    found, known = rows_of(played, EAVESDROPPER)
    around = len(graph.neighbours(0)) - 1
    assert known.signal[: around + 1].tolist() == [1.0] * (around + 1)
    for t, rows in enumerate(found, 1):
        own = torch.from_numpy(PRESENT).float() / CANARIES
        played.grad.randomness.perturb(own, played.grad.std, "noise", t, 0, 0, into=own)
        assert rows[around] == pytest.approx((own * CANARIES).numpy(), abs=2e-3)


@pytest.mark.parametrize("name", ["dpdl", "dpdl-sound"])
@pytest.mark.parametrize(
    "who", ["eavesdropper", "neighbours:1", "neighbours:2", "final-model"]
)
@pytest.mark.parametrize(
    "graph", [RING, UNEVEN, graphs.complete(4)], ids=["ring", "uneven", "complete"]
)
def test_a_canary_moves_every_row_by_its_signal(
    name: str, who: str, graph: Graph
) -> None:
    """Without noise and without others' records, so that the movement is all there is.

    The own answer of `dpdl` then has the cosine 1 with r, where noise makes it nearly orthogonal: K
    as in `dpdl-sound`.
    """
    honest = game(question(name, graph, canaries=CANARIES, rounds=ROUNDS), 1.0)
    mechanism = honest.grad.mechanism.with_noise(0.0)
    silent = replace(honest.grad, mechanism=mechanism)
    alone = replace(honest, grad=silent, company=0)
    found, known = rows_of(alone, threat(who), own_cosine=1.0)
    assert len(found) == ROUNDS
    for rows in found:
        assert rows[:, PRESENT].mean(1).numpy() == pytest.approx(
            known.signal, rel=1e-3, abs=1e-3
        )
        assert rows[:, ~PRESENT].abs().max() < 1e-3


@pytest.mark.parametrize(("name", "cosine"), [("dpdl", 0.0), ("dpdl-sound", 1.0)])
def test_k_is_that_of_answers_orthogonal_to_the_reference(
    name: str, cosine: float
) -> None:
    known = public_facts(game(question(name, RING, canaries=CANARIES), 1.0))
    own = float(RING.W[0, 0])
    expected = (1 - own) / 2 + own / (1 + math.exp(cosine))
    assert known.expected_k(0) == pytest.approx(expected, rel=1e-15)


def test_rows_without_a_record_are_noise_of_the_declared_size() -> None:
    honest = game(question("dpdl-sound", RING, canaries=2000, rounds=3), 3.0)
    played = replace(honest, company=0)
    ears = Ears(EAVESDROPPER, RING, 0)
    known = listener(ears, public_facts(played))
    rows = torch.stack(
        [known.listen(heard) for heard in played.play(np.zeros(0, np.bool_), ears)]
    )
    assert rows.std(dim=(0, 2)).numpy() == pytest.approx(3.0, rel=0.05)


def test_one_neighbour_on_a_ring_cannot_undo_momenta() -> None:
    played = game(question("dpdl", RING, canaries=CANARIES), 1.0)
    known = Links(public_facts(played), Ears(ONE, RING, 0))
    assert known.signal[0] == 1.0
    assert (
        len(known.signal) == 2
    )  # its own momentum, of which it knows all, is the other row
    assert known.signal[1] == 0.0


def test_who_hears_nothing_that_a_canary_moves_derives_nothing() -> None:
    graph = graphs.build("ring", 2, "metropolis", 0)
    alone = game(question("dpdl", graphs.complete(1), canaries=CANARIES), 1.0)
    assert derive(alone, Ears(EAVESDROPPER, alone.graph, 0)) is None
    assert (
        derive(
            game(question("dpdl", graph, canaries=CANARIES), 1.0),
            Ears(EAVESDROPPER, graph, 0),
        )
        is not None
    )


def test_the_algebra_is_that_of_dpdl_without_decay() -> None:
    plain = question("dpdl").algorithm
    assert derivable(plain) and derivable(question("dpdl-sound").algorithm)
    assert not derivable(replace(plain, weight_decay=0.1))
    assert not derivable(replace(plain, lr_decay=0.9))
    assert not derivable(question("dp-dpsgd").algorithm)


def test_final_models_of_a_complete_graph_show_the_sum_of_all_updates_only() -> None:
    played = game(question("dpdl", canaries=CANARIES), 1.0)
    known = listener(Ears(FINAL, played.graph, 0), public_facts(played))
    assert known.signal == pytest.approx([known.signal[0]] * 4)
