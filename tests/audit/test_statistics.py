from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.audit.game import Game
from dpdl.audit.statistics import Adversary, Links, Public, adversary, combine, public
from dpdl.audit.view import Ears
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.privacy.threats import Threat, threat
from tests.audit.worlds import EAVESDROPPER, FINAL, ONE, game, question

RING, UNEVEN = graphs.ring(5), graphs.build("erdos-renyi:0.6", 6, "sinkhorn", 3)
CANARIES, ROUNDS = 50, 4
PRESENT = np.arange(CANARIES) % 2 == 0


def rows_of(name: str, graph: Graph, listener: Threat, sigma: float) -> tuple[list[Tensor | None], Adversary, Game]:
    """What the adversary computes in every round, with every second canary in; sigma = 0 is no noise."""
    honest = game(question(name, graph, canaries=CANARIES, rounds=ROUNDS), 1.0)
    played = replace(honest, grad=replace(honest.grad, noise_multiplier=sigma))
    ears = Ears(listener, graph, played.agent)
    known = adversary(ears, public(played.algorithm, graph, 0, 1 / CANARIES))
    return [known.listen(heard) for heard in played.play(PRESENT, ears)], known, played


@pytest.mark.parametrize("graph", [RING, UNEVEN], ids=["ring", "uneven"])
def test_an_eavesdropper_recovers_the_perturbed_self_gradient_of_dpdl_sound_exactly(graph: Graph) -> None:
    """Slow twin: the self-gradient, which never leaves, is computed again from the seed."""
    found, known, played = rows_of("dpdl-sound", graph, EAVESDROPPER, 3.0)
    around = len(graph.neighbours(0)) - 1
    assert known.signal[: around + 1].tolist() == [1.0] * (around + 1)
    for t, rows in enumerate(found, 1):
        own = torch.from_numpy(PRESENT).float() / CANARIES
        played.grad.randomness.perturb(own, played.grad.std, "noise", t, 0, 0, into=own)
        assert rows is not None
        assert rows[around] == pytest.approx((own * CANARIES).numpy(), abs=2e-3)


@pytest.mark.parametrize("name", ["dpdl", "dpdl-sound"])
@pytest.mark.parametrize("listener", ["eavesdropper", "neighbours:1", "neighbours:2", "final-model"])
@pytest.mark.parametrize("graph", [RING, UNEVEN, graphs.complete(4)], ids=["ring", "uneven", "complete"])
def test_a_canary_moves_every_row_by_its_signal(name: str, listener: str, graph: Graph, monkeypatch) -> None:
    """Without noise, so that the movement is all there is.

    The own answer of `dpdl` then has the cosine 1 with r, where noise makes it nearly orthogonal: K as in `dpdl-sound`.
    """
    k = 0.5 + float(graph.W[0, 0]) * (1 / (1 + math.e) - 0.5)
    monkeypatch.setattr(Public, "usual_k", lambda self, agent: k)
    found, known, _ = rows_of(name, graph, threat(listener), 0.0)
    assert [rows is None for rows in found] == [listener == "final-model" and t == 0 for t in range(ROUNDS)]
    for rows in (rows for rows in found if rows is not None):
        assert rows[:, PRESENT].mean(1).numpy() == pytest.approx(known.signal, rel=1e-3, abs=1e-3)
        assert rows[:, ~PRESENT].abs().max() < 1e-3


def test_rows_without_a_record_are_noise_of_the_declared_size() -> None:
    played = game(question("dpdl-sound", RING, canaries=2000, rounds=3), 3.0)
    ears = Ears(EAVESDROPPER, RING, 0)
    known = adversary(ears, public(played.algorithm, RING, 0, 1 / 2000))
    rows = torch.stack([known.listen(heard) for heard in played.rehearse(ears, 3)])
    assert rows.std(dim=(0, 2)).numpy() == pytest.approx(3.0, rel=0.05)


def test_one_neighbour_on_a_ring_cannot_undo_momenta() -> None:
    played = question("dpdl", RING, canaries=CANARIES).algorithm
    known = Links(public(played, RING, 0, 1.0), Ears(ONE, RING, 0))
    assert known.signal[0] == 1.0
    assert len(known.signal) == 2  # its own momentum, of which it knows all, is the other row
    assert known.signal[1] == 0.0


def test_rows_are_weighed_by_the_noise_they_have() -> None:
    draw = torch.Generator().manual_seed(0)
    noise = torch.randn(3, 40_000, generator=draw) * torch.tensor([[1.0], [2.0], [4.0]])
    found = combine([noise], np.array([1.0, 1.0, 2.0]))
    assert found.mu == pytest.approx(math.sqrt(1 + 1 / 4 + 1 / 4), rel=0.02)
    assert found(noise).std() == pytest.approx(1, rel=0.02)
    assert found.weights / found.weights[0] == pytest.approx([1, 1 / 4, 1 / 8], rel=0.1, abs=0.02)


def test_shared_noise_is_subtracted() -> None:
    noise = torch.randn(1, 5_000, generator=torch.Generator().manual_seed(1))
    found = combine([noise.repeat(2, 1)], np.array([1.0, 0.0]))
    assert found.mu > 1e3


def test_scores_are_log_likelihood_ratios_of_a_sampled_gaussian() -> None:
    found = combine([torch.randn(1, 50_000, generator=torch.Generator().manual_seed(2))], np.array([0.7]))
    row = torch.linspace(-3, 4, 9)[None]
    s, mu = found(row), found.mu
    ratio = np.exp(-((s - mu) ** 2) / 2) / np.exp(-(s**2) / 2)
    assert np.exp(found.score(row, 0.3)) == pytest.approx(0.7 + 0.3 * ratio)
    assert np.exp(found.score(row, 1.0)) == pytest.approx(ratio)


def test_what_the_attack_does_not_know_is_refused() -> None:
    decaying = replace(question("dpdl").algorithm, weight_decay=0.1)
    with pytest.raises(InputError, match="weight_decay"):
        public(decaying, RING, 0, 1.0)
    with pytest.raises(InputError, match="knows dpdl"):
        public(object(), RING, 0, 1.0)  # type: ignore[arg-type]


def test_final_models_of_a_complete_graph_show_the_sum_of_all_updates_only() -> None:
    graph = graphs.complete(4)
    known = adversary(Ears(FINAL, graph, 0), public(question("dpdl").algorithm, graph, 0, 1.0))
    assert known.signal == pytest.approx([known.signal[0]] * 4)
