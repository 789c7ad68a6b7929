"""An adversary hears what its threat model may see, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.audit.ears import Ears, Tap
from dpdl.net import Leaving
from dpdl.privacy.threats import threat
from tests.audit.worlds import game, question

RING = graphs.ring(5)
ALL = np.ones(30, np.bool_)


def may_hear(name: str, source: int, target: int) -> bool:
    """The same rule in other words, for a record of agent 0 of a ring of five.

    Its neighbours are 1 and 4.
    """
    return {
        "eavesdropper": True,
        "neighbours:1": source == 1 or target == 1,
        "neighbours:2": source in (1, 4) or target in (1, 4),
        "neighbours:9": source in (1, 4) or target in (1, 4),
        "final-model": False,
    }[name]


@pytest.mark.parametrize(
    "name",
    ["eavesdropper", "neighbours:1", "neighbours:2", "neighbours:9", "final-model"],
)
def test_an_adversary_gets_the_messages_its_threat_may_see_and_no_others(
    name: str,
) -> None:
    """Everything at the exit is recorded a second time, and compared message by message."""
    played = game(question("dpdl", RING, canaries=30, rounds=3), 1.0)
    left = list(played.play(ALL, Ears(threat("eavesdropper"), RING, 0)))
    heard = list(played.play(ALL, Ears(threat(name), RING, 0)))
    assert len(heard) == 3
    for now, everything in zip(heard, left, strict=True):
        assert set(everything) == {"model", "gradient", "momentum"}
        for channel, messages in everything.items():
            assert len(messages) == 10
            allowed = {edge for edge in messages if may_hear(name, *edge)}
            got = now.get(channel, {}) if name != "final-model" else {}
            assert set(got) == allowed
            assert all(torch.equal(got[edge], messages[edge]) for edge in allowed)


def test_who_sees_models_only_sees_that_of_every_agent_after_every_round() -> None:
    played = game(question("dpdl", RING, canaries=30, rounds=3), 1.0)
    sent = list(played.play(ALL, Ears(threat("eavesdropper"), RING, 0)))
    seen = list(played.play(ALL, Ears(threat("final-model"), RING, 0)))
    assert all(
        set(now) == {"model"} and list(now["model"]) == [(j, j) for j in range(5)]
        for now in seen
    )
    for before, after in zip(seen, sent[1:], strict=False):
        for j in range(5):
            assert torch.equal(before["model"][j, j], after["model"][j, (j + 1) % 5])


@pytest.mark.parametrize("name", ["dpdl", "decor"])
def test_a_coalition_knows_the_noise_that_it_draws_and_no_other(name: str) -> None:
    """Drawn again from the seed; of a link both ends know it."""
    played = game(question(name, RING, canaries=30, rounds=2), 3.0)
    plain = list(played.play(ALL, Ears(threat("eavesdropper"), RING, 0)))
    for t, heard in enumerate(
        played.play(ALL, Ears(threat("neighbours:1"), RING, 0)), 1
    ):
        known = {
            channel: of
            for channel, of in heard.items()
            if channel.endswith("of their own")
        }
        edges = {(1, 1)} if name == "decor" else {(0, 1), (1, 1), (2, 1)}
        assert set(known.pop("noise of their own")) == edges
        assert {edge for of in known.values() for edge in of} == (
            {(0, 1), (1, 2)} if name == "decor" else set()
        )
        for (i, j), row in heard["noise of their own"].items():
            drawn = torch.zeros(30)
            played.grad.randomness.perturb(drawn, 1.0, "noise", t, i, j, into=drawn)
            assert row == pytest.approx(drawn, abs=1e-4)
        messages = (
            (channel, edge)
            for channel in set(plain[0]) & set(heard)
            for edge in heard[channel]
        )
        assert all(
            torch.equal(heard[c][edge], plain[t - 1][c][edge]) for c, edge in messages
        )


def test_a_tap_keeps_the_row_of_every_message_until_it_is_taken() -> None:
    tap = Tap(Ears(threat("eavesdropper"), RING, 0))
    rows = torch.arange(6.0).view(3, 2)
    tap(Leaving("gradient", torch.tensor([[0, 1], [1, 2]]), rows, torch.tensor([2, 0])))
    heard = tap.take()
    assert torch.equal(heard["gradient"][0, 1], rows[2])
    assert torch.equal(heard["gradient"][1, 2], rows[0])
    assert tap.take() == {}


def test_several_messages_on_one_link_and_channel_are_all_kept() -> None:
    tap = Tap(Ears(threat("eavesdropper"), RING, 0))
    for k in range(3):
        tap(
            Leaving(
                "gossip",
                torch.tensor([[0, 1]]),
                torch.full((1, 2), float(k)),
                torch.tensor([0]),
            )
        )
    heard = tap.take()
    assert [
        float(heard[channel][0, 1][0]) for channel in ("gossip", "gossip#2", "gossip#3")
    ] == [0, 1, 2]


def test_a_coalition_is_of_the_first_neighbours_and_an_eavesdropper_has_none() -> None:
    assert Ears(threat("neighbours:1"), RING, 0).coalition == {1}
    assert Ears(threat("neighbours:9"), RING, 0).coalition == {1, 4}
    assert Ears(threat("eavesdropper"), RING, 0).coalition == frozenset()
