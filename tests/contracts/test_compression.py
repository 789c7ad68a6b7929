"""Compression is inside the contract: it is given no more than was declared, and adds nothing.

An answer g leaves as signs q of p = g + e, and e <- p - q stays. So g = q + e_after - e_before: what
compression was given can be read off the messages and the memories, and its sensitivity measured.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.compression import ERROR, decode, encode, slots
from dpdl.net import Gate, Leaving, Net
from dpdl.privacy.gradient import PrivateGradient
from dpdl.types import Batch
from tests.conftest import small_batch
from tests.contracts.play import CROSS, SMALL, algorithm, gradient

GRAPH = graphs.ring(5)
ROUNDS = 4
WHOLE = [small_batch(4, k) for k in range(5)]
Rows = dict[tuple[int, int], Tensor]
"""A row for every link, by sender and receiver."""


class Wire:
    """The gradients that left in a round, as they left."""

    def __init__(self) -> None:
        self.heard: Rows = {}

    def __call__(self, leaving: Leaving) -> None:
        if leaving.channel == "gradient":
            rows = leaving.rows[leaving.at].clone()
            links = [(a, b) for a, b in leaving.edges.tolist()]
            self.heard |= dict(zip(links, rows, strict=True))


class Played:
    """Some rounds of an algorithm whose answers leave as signs."""

    def __init__(
        self,
        name: str,
        batches: Callable[[int], list[Batch]],
        grad: PrivateGradient,
    ) -> None:
        chosen = algorithm(name, lr=0.1, compress="sign")
        wire = Wire()
        net = Net(GRAPH, observers=[Gate(chosen.releases(grad)), wire])
        state = chosen.init(SMALL.initial.repeat(5, 1))
        self.models: list[Tensor] = []
        self.messages: list[Rows] = []
        self.memories = [dict.fromkeys(links(net), SMALL.initial.new_zeros(()))]
        for t in range(1, ROUNDS + 1):
            self.models.append(state["x"])
            state, _ = chosen.round(state, batches(t), net, grad, t)
            self.messages.append(wire.heard)
            self.memories.append(kept(net, state[ERROR]))
            wire.heard = {}

    def given(self, t: int) -> Rows:
        """What compression was given in a round: what left, and what was kept of it."""
        before, after = self.memories[t - 1 : t + 1]
        return {
            link: decode(message, SMALL.sizes, SMALL.initial)
            + (after[link] - before[link])
            for link, message in self.messages[t - 1].items()
        }


def links(net: Net) -> list[tuple[int, int]]:
    """From the agent that answers to the one that asked."""
    edges = net.visits.edges.tolist()
    return [(edges[k][1], edges[k][0]) for k in slots(net)]


def kept(net: Net, error: Tensor) -> Rows:
    places = slots(net).values()
    return {link: error[at] for link, at in zip(links(net), places, strict=True)}


@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("name", CROSS)
def test_one_record_moves_what_is_compressed_by_at_most_the_declared_sensitivity(
    name: str, first: int
) -> None:
    """Noise off; one record of agent 2 is missing in one round, without and with a memory."""
    less = [*WHOLE[:2], Batch(*(part[1:] for part in WHOLE[2])), *WHOLE[3:]]
    grad = gradient()
    compressed = algorithm(name, lr=0.1, compress="sign")
    (declared,) = [r.sensitivity for r in compressed.releases(grad) if r.private]
    assert declared is not None
    one = Played(name, lambda t: WHOLE, grad)
    other = Played(name, lambda t: less if t == first else WHOLE, grad)
    for t in range(1, first):
        assert torch.equal(one.models[t], other.models[t])
    before, after = one.given(first), other.given(first)
    moved = {link: float((before[link] - after[link]).norm()) for link in before}
    assert len(moved) == 10
    for (sender, _), distance in moved.items():
        if sender == 2:
            assert 0 < distance <= declared * (1 + 1e-9)
        else:
            assert distance < 1e-12


@pytest.mark.parametrize("name", CROSS)
def test_signs_are_computed_from_perturbed_answers_alone(name: str) -> None:
    """Also later, when there is a memory: it is what is missing in the messages before."""
    grad = gradient(sigma=2.0)
    played, net = Played(name, lambda t: WHOLE, grad), Net(GRAPH)
    missing: Rows = dict.fromkeys(links(net), torch.zeros_like(SMALL.initial))
    for t in range(1, ROUNDS + 1):
        models = net.send("model", played.models[t - 1])
        private = grad.answers(models, WHOLE, net.visits, t).private
        for (i, j), row in zip(net.visits.edges.tolist(), private, strict=True):
            if i == j:
                continue
            wanted = row + missing[j, i]
            message = torch.from_numpy(encode(wanted, SMALL.sizes))
            assert torch.equal(played.messages[t - 1][j, i], message)
            missing[j, i] = wanted - decode(message, SMALL.sizes, wanted)
