"""The observers at the exit: bytes are counted, and undeclared channels are stopped."""

from __future__ import annotations

import pytest
import torch

from dpdl.errors import InputError, PrivacyRefused
from dpdl.graph import complete, path, ring
from dpdl.net import Gate, Leaving, Meter, Net
from dpdl.privacy.releases import Release
from dpdl.transport import COLLECT, CONTROL
from tests.places import on_threads


def declared(*channels: str) -> list[Release]:
    return [Release(channel, private=False, carries="x") for channel in channels]


def test_a_meter_counts_what_every_agent_sends() -> None:
    meter = Meter(4)
    net = Net(path(4), observers=[meter])
    net.send("model", torch.zeros(4, 5))
    assert meter.bytes.tolist() == [20, 40, 40, 20]
    net.reply("gradient", torch.zeros(10, 5, dtype=torch.float64))
    assert meter.bytes.tolist() == [60, 120, 120, 60]


def test_nothing_sent_weighs_nothing() -> None:
    meter = Meter(1)
    Net(complete(1), observers=[meter]).send("model", torch.zeros(1, 5))
    assert meter.bytes.tolist() == [0]


def test_meters_of_several_processes_add_up_to_that_of_one() -> None:
    def work(post):
        meter = Meter(6)
        net = Net(ring(6), post, [meter])
        net.mix("model", torch.zeros(len(net.agents), 3))
        return meter.bytes

    assert sum(on_threads(3, work)).tolist() == [24] * 6


def test_a_gate_lets_declared_channels_through() -> None:
    seen: list[Leaving] = []
    net = Net(ring(3), observers=[Gate(declared("model", "gradient")), seen.append])
    net.send("model", torch.zeros(3, 2))
    net.reply("gradient", torch.zeros(9, 2))
    assert [leaving.channel for leaving in seen] == ["model", "gradient"]


def test_a_gate_stops_others_before_they_leave() -> None:
    seen: list[Leaving] = []
    net = Net(ring(3), observers=[Gate(declared("model", "step")), seen.append])
    with pytest.raises(PrivacyRefused) as caught:
        net.send("gradient", torch.zeros(3, 2))
    assert "channel 'gradient', which it has not declared" in str(caught.value)
    assert str(caught.value).endswith("declared: model, step.")
    assert seen == [], "nobody behind the gate has seen it"


@pytest.mark.parametrize("channel", [CONTROL, COLLECT, "~other"])
def test_channels_of_the_run_itself_cannot_be_declared(channel: str) -> None:
    with pytest.raises(InputError, match="are those of the run itself"):
        Gate(declared("model", channel))
