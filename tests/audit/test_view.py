from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.audit.view import Ears, Tap
from dpdl.net import Leaving
from dpdl.privacy.threats import threat
from tests.audit.worlds import game, question

RING = graphs.ring(5)


def may_hear(name: str, channel: str, source: int, target: int) -> bool:
    """The same rule in other words, for a record of agent 0 of a ring of five: its neighbours are 1 and 4."""
    return {
        "eavesdropper": True,
        "neighbours:1": source == 1 or target == 1,
        "neighbours:2": source in (1, 4) or target in (1, 4),
        "neighbours:9": source in (1, 4) or target in (1, 4),
        "final-model": channel == "model",
    }[name]


@pytest.mark.parametrize("name", ["eavesdropper", "neighbours:1", "neighbours:2", "neighbours:9", "final-model"])
def test_an_adversary_gets_the_messages_its_threat_may_see_and_no_others(name: str) -> None:
    """Everything at the exit is recorded a second time, and compared message by message."""
    played = game(question("dpdl", RING, canaries=30, rounds=3), 1.0)
    left = list(played.play(np.ones(30, np.bool_), Ears(threat("eavesdropper"), RING, 0)))
    heard = list(played.play(np.ones(30, np.bool_), Ears(threat(name), RING, 0)))
    assert len(heard) == 3
    for now, everything in zip(heard, left, strict=True):
        assert set(everything) == {"model", "gradient", "momentum"}
        for channel, messages in everything.items():
            assert len(messages) == 10
            allowed = {edge for edge in messages if may_hear(name, channel, *edge)}
            assert set(now[channel]) == allowed
            assert all(torch.equal(now[channel][edge], messages[edge]) for edge in allowed)


def test_a_tap_keeps_the_row_of_every_message_until_it_is_taken() -> None:
    tap = Tap(Ears(threat("eavesdropper"), RING, 0))
    rows = torch.arange(6.0).view(3, 2)
    tap(Leaving("gradient", torch.tensor([[0, 1], [1, 2]]), rows, torch.tensor([2, 0])))
    heard = tap.take()
    assert torch.equal(heard["gradient"][0, 1], rows[2])
    assert torch.equal(heard["gradient"][1, 2], rows[0])
    assert tap.take() == {}
